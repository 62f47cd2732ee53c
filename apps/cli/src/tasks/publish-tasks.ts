import type { TaskSubmittedBody } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';
import { loadTaskDirectory, packTask, taskFields } from '@espalier/tasks';
import type { TaskDirectory } from '../run-file/task-directories.ts';

/** A task that was published. */
export interface PublishedTask {
  readonly task_id: string;
  readonly name: string;
  readonly package_key: string;
  readonly package_bytes: number;
}

/**
 * Packs tasks, stores the packages and publishes them to a run. Publishing a task again changes nothing. Throws what
 * `loadTaskDirectory` throws for the first one that is not valid, before anything is published.
 */
export async function publishTasks(
  plane: { readonly kafka: KafkaPort; readonly objects: ObjectStore },
  runId: string,
  directories: readonly TaskDirectory[],
): Promise<PublishedTask[]> {
  const tasks = [];
  for (const directory of directories) tasks.push({ directory, task: await loadTaskDirectory(directory.path) });
  const producer = plane.kafka.producer();
  const published: PublishedTask[] = [];
  for (const { directory, task } of tasks) {
    const reference = await plane.objects.put(await packTask(task.files), {
      prefix: 'packages',
      mediaType: 'application/x-tar',
    });
    const body: TaskSubmittedBody = {
      run_id: runId,
      task_id: directory.taskId,
      repeat: directory.repeat,
      package: reference,
      ...taskFields(task),
      idempotency_key: `${runId}/${directory.taskId}/${reference.content_digest}/${directory.repeat}`,
    };
    await producer.send('task.submitted', body);
    const { key: package_key, bytes: package_bytes } = reference;
    published.push({ task_id: directory.taskId, name: task.name, package_key, package_bytes });
  }
  return published;
}
