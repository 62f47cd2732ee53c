import { describe, expect, it } from 'vitest';
import { taskFilesOf } from '../test-support/task-builder.ts';
import { taskFields } from './submission.ts';
import { parseTask } from './task-directory/parse-task.ts';

const fieldsOf = (config: string): ReturnType<typeof taskFields> =>
  taskFields(parseTask(taskFilesOf({ 'task.toml': `[task]\nname = "a/b"\n${config}` })));

describe('taskFields', () => {
  it('converts to the units of the event', () => {
    const config = `[metadata]\nz = 1\na = [true]\n[agent]\ntimeout_sec = 1.5\n[verifier]\ntimeout_sec = 30
[environment]\ndocker_image = "x:1"\ncpus = 0.5\nmemory_mb = 512\nstorage = "2G"\n`;
    expect(fieldsOf(config)).toEqual({
      name: 'a/b',
      instruction_digest: 'e08b4892252fe859cf5e6fc6ca864fae330e3992ce41ef4e49340432ccb2f4c8',
      image: 'x:1',
      resources_json: '{"cpus":0.5,"memory_mb":512,"storage_mb":2048}',
      agent_timeout_ms: 1_500,
      verifier_timeout_ms: 30_000,
      metadata_json: '{"a":[true],"z":1}',
    });
  });

  it('leaves open what the task leaves open', () => {
    expect(fieldsOf('')).toMatchObject({ image: null, resources_json: '{}', agent_timeout_ms: null });
  });
});
