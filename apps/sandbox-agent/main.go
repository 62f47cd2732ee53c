// Command sandbox-agent is the only code of Espalier inside a sandbox, and what builds the local ones.
//
//	sandbox-agent launch --spec FILE   builds the sandbox that FILE describes and becomes its outer process
//	sandbox-agent serve ...            runs inside as PID 1 (or sub-reaper) and serves the agent's HTTP API
//	sandbox-agent version
package main

import (
	"fmt"
	"os"

	"espalier.dev/espalier/apps/sandbox-agent/internal/launch"
	"espalier.dev/espalier/apps/sandbox-agent/internal/serve"
	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

func main() {
	if len(os.Args) < 2 {
		fail(2, "usage: sandbox-agent launch --spec FILE | serve [flags] | probe | version")
	}
	switch os.Args[1] {
	case "launch":
		if err := launch.Main(os.Args[2:]); err != nil {
			fail(1, err.Error())
		}
	case "probe":
		launch.Probe(os.Stdout)
	case "serve":
		if err := serve.Main(os.Args[2:]); err != nil {
			fail(1, err.Error())
		}
	case "version":
		fmt.Println(spec.Version)
	default:
		fail(2, fmt.Sprintf("sandbox-agent: unknown mode %q; use launch, serve, probe or version", os.Args[1]))
	}
}

func fail(code int, message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(code)
}
