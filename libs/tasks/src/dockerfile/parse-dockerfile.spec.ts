import { describe, expect, it } from 'vitest';
import { parseDockerfile } from './parse-dockerfile.ts';
import { DockerfileError } from './plan.ts';

const problemsOf = (text: string): string[] => {
  try {
    parseDockerfile(text);
  } catch (error) {
    if (error instanceof DockerfileError)
      return error.problems.map(({ line, instruction }) => `${line} ${instruction}`);
    throw error;
  }
  return [];
};

describe('parseDockerfile', () => {
  it('gives steps in order, with variables expanded and continuation lines joined', () => {
    const plan = parseDockerfile(
      [
        '# syntax=docker/dockerfile:1',
        'ARG TAG=3.11',
        'FROM python:${TAG}-slim AS base',
        'ENV APP=/app LEVEL="two words"',
        'WORKDIR $APP',
        'COPY --chmod=755 run.sh ./bin/',
        'RUN echo a \\',
        '# a comment inside',
        '  && echo "$APP"',
        'WORKDIR sub',
        'CMD ["bash"]',
      ].join('\n'),
    );
    expect(plan).toEqual({
      base: 'python:3.11-slim',
      env: { APP: '/app', LEVEL: 'two words' },
      workdir: '/app/sub',
      steps: [
        { kind: 'mkdir', line: 5, path: '/app' },
        { kind: 'copy', line: 6, sources: ['run.sh'], target: '/app/bin/', chmod: '755' },
        {
          kind: 'run',
          line: 7,
          argv: ['/bin/sh', '-c', 'echo a   && echo "$APP"'],
          workdir: '/app',
          env: { TAG: '3.11', APP: '/app', LEVEL: 'two words' },
        },
        { kind: 'mkdir', line: 10, path: '/app/sub' },
      ],
    });
  });

  it('reads exec forms, SHELL and here-documents', () => {
    const plan = parseDockerfile(
      'FROM x\nRUN ["a","b c"]\nSHELL ["/bin/bash","-c"]\nRUN <<EOF\necho 1\necho 2\nEOF\nCOPY <<"END" /etc/f\n$RAW\nEND\n',
    );
    expect(plan.steps).toMatchObject([
      { argv: ['a', 'b c'] },
      { argv: ['/bin/bash', '-c', 'echo 1\necho 2\n'] },
      { kind: 'write', target: '/etc/f', content: '$RAW\n' },
    ]);
  });

  it('expands defaults and alternatives', () => {
    const plan = parseDockerfile('FROM x\nARG A\nENV B=${A:-no}\nENV C=${B:+yes} D=\\$B\nCOPY . $B');
    expect(plan.env).toEqual({ B: 'no', C: 'yes', D: '$B' });
  });

  it('names every line that it cannot honour', () => {
    expect(
      problemsOf(
        'FROM a\nCOPY --from=b /x /y\nUSER app\nADD https://x.test/a /a\nRUN --mount=type=secret,id=k true\nADD a.tar.gz /\nFROM c\nONBUILD RUN x',
      ),
    ).toEqual(['2 COPY', '3 USER', '4 ADD', '5 RUN', '6 ADD', '7 FROM', '8 ONBUILD']);
  });

  it('refuses a file without FROM', () => {
    expect(problemsOf('# nothing\n')).toEqual(['1 FROM']);
    expect(problemsOf('RUN x')).toEqual(['1 RUN']);
  });
});
