import { afterEach, describe, expect, it } from 'vitest';
import { RootedSandbox } from '../../test-support/rooted-sandbox.ts';
import { taskFilesOf } from '../../test-support/task-builder.ts';
import { captureWorkspace, restoreWorkspace, snapshotPlan } from './snapshot.ts';

const open: RootedSandbox[] = [];
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.close();
});
async function sandbox(): Promise<RootedSandbox> {
  const one = await RootedSandbox.open(taskFilesOf({ 'environment/old': 'old\n', 'environment/deep/er': 'deep\n' }));
  open.push(one);
  return one;
}
const list = async (one: RootedSandbox): Promise<string> =>
  (await one.exec({ command: 'find . -type f | sort; cat value', timeoutMs: 10_000 })).stdout;

describe('a workspace snapshot', () => {
  it('carries changes, additions and deletions into a fresh sandbox', async () => {
    const plan = { paths: ['/app'] };
    const work = await sandbox();
    await work.exec({
      command: 'echo 2 >value; rm -r old deep; mkdir new; echo x >new/file; chmod 755 new/file',
      timeoutMs: 10_000,
    });
    const fresh = await sandbox();
    await restoreWorkspace(fresh, plan, await captureWorkspace(work, plan));
    expect(await list(fresh)).toBe('./new/file\n./value\n2\n');
    const { exitCode } = await fresh.exec({ command: 'test -x new/file && ! test -x value', timeoutMs: 10_000 });
    expect(exitCode).toBe(0);
  });

  it('takes single files and leaves the rest of the image alone', async () => {
    const plan = { paths: ['/app/value', '/app/absent'] };
    const work = await sandbox();
    await work.exec({ command: 'echo 2 >value; rm old', timeoutMs: 10_000 });
    const fresh = await sandbox();
    await restoreWorkspace(fresh, plan, await captureWorkspace(work, plan));
    expect(await list(fresh)).toBe('./deep/er\n./old\n./value\n2\n');
  });

  it('has equal bytes for equal work', async () => {
    const plan = { paths: ['/app/value'] };
    const [one, other] = [await sandbox(), await sandbox()];
    expect((await captureWorkspace(one, plan)).equals(await captureWorkspace(other, plan))).toBe(true);
  });
});

describe('snapshotPlan', () => {
  it('takes the working directory for a shared verifier, the artifacts for a separate one', () => {
    expect(snapshotPlan({ verifierMode: 'shared', artifacts: [] }, '/app').paths).toEqual(['/app', '/logs/artifacts']);
    const artifacts = [
      { source: '/logs/artifacts', exclude: [] },
      { source: 'out', exclude: [] },
    ];
    expect(snapshotPlan({ verifierMode: 'separate', artifacts }, '/app/').paths).toEqual([
      '/logs/artifacts',
      '/app/out',
    ]);
  });
});
