import { posix } from 'node:path';
import { splitInstructions, type Instruction } from './instructions.ts';
import { DockerfileError, type DockerfilePlan, type DockerfileProblem, type DockerfileStep } from './plan.ts';
import { expand, jsonWords, splitWords, takeFlags } from './words.ts';

/** Instructions that say nothing about what a command in the sandbox finds. */
const WITHOUT_EFFECT = new Set([
  'LABEL',
  'EXPOSE',
  'CMD',
  'ENTRYPOINT',
  'STOPSIGNAL',
  'HEALTHCHECK',
  'MAINTAINER',
  'VOLUME',
]);
const ARCHIVE = /\.(?:tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst))$/;
const ROOT_USERS = new Set(['root', '0', 'root:root', '0:0']);

/**
 * Reads a Dockerfile as a plan for building on a given base: what changes files, in order, with variables expanded.
 * @throws {DockerfileError} with every line that cannot be honoured without a container runtime.
 */
export function parseDockerfile(text: string): DockerfilePlan {
  return new Parser(text).plan();
}

class Parser {
  readonly #problems: DockerfileProblem[] = [];
  readonly #steps: DockerfileStep[] = [];
  readonly #args: Record<string, string> = {};
  readonly #env: Record<string, string> = {};
  readonly #instructions: readonly Instruction[];
  readonly #escape: string;
  #base: string | null = null;
  #workdir: string | null = null;
  #shell: readonly string[] = ['/bin/sh', '-c'];

  constructor(text: string) {
    const { instructions, escape } = splitInstructions(text);
    this.#instructions = instructions;
    this.#escape = escape;
  }

  plan(): DockerfilePlan {
    for (const instruction of this.#instructions) this.#read(instruction);
    if (this.#base === null && this.#problems.length === 0)
      this.#problems.push({ line: 1, instruction: 'FROM', reason: 'missing' });
    if (this.#problems.length > 0) throw new DockerfileError(this.#problems);
    return { base: this.#base ?? '', steps: this.#steps, env: this.#env, workdir: this.#workdir };
  }

  #read(instruction: Instruction): void {
    if (this.#base === null && instruction.name !== 'FROM' && instruction.name !== 'ARG') {
      this.#problem(instruction, 'comes before FROM');
      return;
    }
    switch (instruction.name) {
      case 'FROM':
        this.#from(instruction);
        return;
      case 'ARG':
        for (const word of splitWords(this.#expand(instruction.rest), this.#escape)) {
          const at = word.indexOf('=');
          if (at > 0) this.#args[word.slice(0, at)] = word.slice(at + 1);
        }
        return;
      case 'ENV':
        this.#setEnv(instruction);
        return;
      case 'WORKDIR': {
        const path = this.#unquote(this.#expand(instruction.rest));
        this.#workdir = posix.resolve(this.#workdir ?? '/', path);
        this.#steps.push({ kind: 'mkdir', line: instruction.line, path: this.#workdir });
        return;
      }
      case 'COPY':
      case 'ADD':
        this.#copy(instruction);
        return;
      case 'RUN':
        this.#run(instruction);
        return;
      case 'SHELL': {
        const words = jsonWords(instruction.rest);
        if (words && words.length > 0) this.#shell = words;
        else this.#problem(instruction, 'is no JSON array of strings');
        return;
      }
      case 'USER':
        if (!ROOT_USERS.has(this.#expand(instruction.rest).trim()))
          this.#problem(instruction, 'sandboxes of one machine run as root alone');
        return;
      default:
        if (!WITHOUT_EFFECT.has(instruction.name))
          this.#problem(instruction, 'is not known to the local image builder');
    }
  }

  #from(instruction: Instruction): void {
    if (this.#base !== null) {
      this.#problem(instruction, 'a second stage: only one is built without a container runtime');
      return;
    }
    const { rest } = takeFlags(instruction.rest);
    this.#base = splitWords(this.#expand(rest))[0] ?? '';
    if (this.#base === '') this.#problem(instruction, 'names no image');
    if (this.#base === 'scratch')
      this.#problem(instruction, 'the base is this machine\'s root, which "scratch" has not');
  }

  #setEnv(instruction: Instruction): void {
    const { rest } = instruction;
    const name = rest.split(/[\s=]/, 1)[0] ?? '';
    // The old form `ENV NAME value with spaces`.
    if (rest[name.length] !== '=') {
      this.#env[name] = this.#expand(rest.slice(name.length).trim());
      return;
    }
    for (const word of splitWords(this.#expand(rest), this.#escape)) {
      const at = word.indexOf('=');
      if (at > 0) this.#env[word.slice(0, at)] = word.slice(at + 1);
      else this.#problem(instruction, `"${word}" is no NAME=value`);
    }
  }

  #copy(instruction: Instruction): void {
    const { flags, rest } = takeFlags(instruction.rest);
    for (const [flag, value] of flags) {
      if (flag === 'from') this.#problem(instruction, '--from needs another stage or image');
      else if (flag === 'chown' && !ROOT_USERS.has(value))
        this.#problem(instruction, `--chown=${value}: root owns all`);
      else if (!['chown', 'chmod', 'link', 'from'].includes(flag))
        this.#problem(instruction, `--${flag} is not supported`);
    }
    const chmod = flags.get('chmod') ?? null;
    const words = jsonWords(rest) ?? splitWords(this.#expand(rest), this.#escape);
    const target = words.at(-1);
    const sources = words.slice(0, -1);
    if (target === undefined || sources.length === 0) {
      this.#problem(instruction, 'needs a source and a target');
      return;
    }
    const absolute = this.#absolute(target);
    for (const heredoc of instruction.heredocs) {
      const content = heredoc.expand ? this.#expand(heredoc.content) : heredoc.content;
      const file = absolute.endsWith('/') ? `${absolute}${heredoc.name}` : absolute;
      this.#steps.push({ kind: 'write', line: instruction.line, target: file, content, chmod });
    }
    const files = sources.filter((source) => !source.startsWith('<<'));
    for (const source of files) {
      if (/^[a-z]+:\/\//i.test(source) || source.startsWith('git@'))
        this.#problem(instruction, `${source}: no downloads`);
      else if (instruction.name === 'ADD' && ARCHIVE.test(source))
        this.#problem(instruction, `${source}: archives are not unpacked; COPY it and RUN tar`);
    }
    if (files.length > 0)
      this.#steps.push({ kind: 'copy', line: instruction.line, sources: files, target: absolute, chmod });
  }

  #run(instruction: Instruction): void {
    const { flags, rest } = takeFlags(instruction.rest);
    for (const [flag, value] of flags) {
      // Caches and modes change speed or privileges, not the result.
      if (flag === 'mount' && /type=(?:cache|tmpfs)/.test(value)) continue;
      if (flag === 'network' && value === 'default') continue;
      this.#problem(instruction, `--${flag}=${value} is not supported`);
    }
    const heredoc = instruction.heredocs[0];
    const script = /^<<-?["']?[A-Za-z_][A-Za-z0-9_]*["']?$/.test(rest) && heredoc ? heredoc.content : null;
    const withHeredocs = instruction.heredocs.map(({ name, content }) => `\n${content}${name}`).join('');
    const argv = jsonWords(rest) ?? [...this.#shell, script ?? `${rest}${withHeredocs}`];
    this.#steps.push({
      kind: 'run',
      line: instruction.line,
      argv,
      workdir: this.#workdir ?? '/',
      env: { ...this.#args, ...this.#env },
    });
  }

  #absolute(path: string): string {
    const resolved = posix.resolve(this.#workdir ?? '/', path);
    return path.endsWith('/') || path === '.' || path.endsWith('/.') ? `${resolved.replace(/\/$/, '')}/` : resolved;
  }

  #expand(text: string): string {
    return expand(text, { ...this.#args, ...this.#env }, this.#escape);
  }

  #unquote(text: string): string {
    return splitWords(text, this.#escape).join(' ');
  }

  #problem({ line, name }: Instruction, reason: string): void {
    this.#problems.push({ line, instruction: name, reason });
  }
}
