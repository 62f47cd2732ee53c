/** One change that a Dockerfile makes to the image's file system. */
export type DockerfileStep =
  | {
      readonly kind: 'run';
      /** Line of the instruction, from 1. */
      readonly line: number;
      /** Program and arguments, the shell included. */
      readonly argv: readonly string[];
      readonly workdir: string;
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'copy';
      readonly line: number;
      /** Paths or patterns in the build context. */
      readonly sources: readonly string[];
      /** Absolute; a trailing slash means a directory. */
      readonly target: string;
      /** Octal permission bits, if given. */
      readonly chmod: string | null;
    }
  | {
      readonly kind: 'write';
      readonly line: number;
      /** A here-document of COPY. */
      readonly target: string;
      readonly content: string;
      readonly chmod: string | null;
    }
  | { readonly kind: 'mkdir'; readonly line: number; readonly path: string };

/** What a Dockerfile asks for, in the order of its lines, variables expanded. */
export interface DockerfilePlan {
  /** The image named by FROM. */
  readonly base: string;
  readonly steps: readonly DockerfileStep[];
  /** Environment of every command in the image. */
  readonly env: Readonly<Record<string, string>>;
  /** Working directory; null when the Dockerfile sets none. */
  readonly workdir: string | null;
}

/** One instruction that cannot be honoured. */
export interface DockerfileProblem {
  readonly line: number;
  readonly instruction: string;
  readonly reason: string;
}

/** Thrown when a Dockerfile is malformed or asks for what the local driver cannot do. Lists every such line. */
export class DockerfileError extends Error {
  readonly code = 'DOCKERFILE_UNSUPPORTED';
  readonly retryable = false;

  constructor(readonly problems: readonly DockerfileProblem[]) {
    super(
      `environment/Dockerfile cannot be honoured here:\n${problems
        .map(({ line, instruction, reason }) => `  line ${line}: ${instruction}: ${reason}`)
        .join('\n')}`,
    );
    this.name = 'DockerfileError';
  }
}
