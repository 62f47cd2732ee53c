import type { Effects, MachineInput, StateMachine, StateView } from '@espalier/contracts';
import { Workspace } from '../state/workspace.ts';
import { DEFAULT_TIMINGS, type Timings } from '../timings.ts';
import { admit } from './admission.ts';
import { assemble } from './batches.ts';
import { onCommanded } from './commands.ts';
import { findRun, isLive, report, writeHead, type KnownRun } from './context.ts';
import { drain, progress } from './ending.ts';
import { commandKey } from './entries.ts';
import { onGroupDecided, onRolloutEnded } from './groups.ts';
import { onJoined, onPublished, onTrained } from './learners.ts';
import { giveUpParked, onSubmitted, onTask } from './submission.ts';
import { answerAgain } from './verdicts.ts';

/**
 * The RunProcessor's state machine: admission under the staleness bound, batches, learner sessions and acknowledgements,
 * policy versions, circuit breaker, the end of a run. Pure: see {@link StateMachine}.
 */
export class RunMachine implements StateMachine {
  readonly name = 'run';
  readonly inputs = [
    'run.submitted',
    'run.commanded',
    'task.submitted',
    'rollout.ended',
    'group.decided',
    'learner.joined',
    'batch.trained',
    'policy.published',
  ] as const;
  readonly stateTopic = 'state.run' as const;
  readonly journalTopic = 'journal.run' as const;
  readonly stateVersion = 1;
  private readonly timings: Timings;

  constructor(timings: Timings = DEFAULT_TIMINGS) {
    this.timings = timings;
  }

  decide(state: StateView, input: MachineInput, now: number): Effects {
    const work = new Workspace(state, now);
    const run = this.apply(work, input);
    if (run) {
      if (isLive(run)) assemble(run);
      progress(run);
      if (isLive(run)) admit(run);
    }
    return work.effects;
  }

  fire(state: StateView, timer: string, now: number): Effects {
    const work = new Workspace(state, now);
    const [kind = '', runId = '', subject = ''] = timer.split('|');
    if (kind === 'park') giveUpParked(work, runId, subject);
    else if (kind === 'command') work.remove(commandKey(runId, subject));
    return work.effects;
  }

  abandon(state: StateView, input: MachineInput, error: Error, now: number): Effects {
    const work = new Workspace(state, now);
    work.reject('PROCESSOR_BUG', `${error.name}: ${error.message}`);
    const run = findRun(work, this.timings, (input.value as { run_id: string | null }).run_id ?? '');
    if (!run || !isLive(run)) return work.effects;
    drain(run, 'CANCEL', 'PROCESSOR_BUG');
    writeHead(run, { state: 'FAILED' });
    report(run, 'ENDED', { code: 'PROCESSOR_BUG', message: error.message });
    return work.effects;
  }

  /** Applies one event; gives back the run when what follows from it has to be worked out. */
  private apply(work: Workspace, input: MachineInput): KnownRun | undefined {
    switch (input.topic) {
      case 'run.submitted':
        return onSubmitted(work, this.timings, input.value);
      case 'task.submitted':
        return onTask(work, this.timings, input.value);
      default:
    }
    const run = findRun(work, this.timings, input.value.run_id ?? '');
    if (!run) {
      this.refuseUnknown(work, input);
      return undefined;
    }
    switch (input.topic) {
      case 'run.commanded':
        onCommanded(run, input.value);
        return run;
      case 'rollout.ended':
        onRolloutEnded(run, input.value);
        return run;
      case 'group.decided':
        onGroupDecided(run, input.value);
        return run;
      case 'learner.joined':
        if (!answerAgain(run, input.value.command_id, 'LEARNER')) onJoined(run, input.value);
        return run;
      case 'batch.trained':
        if (!answerAgain(run, input.value.command_id, 'TRAINED')) onTrained(run, input.value);
        return run;
      case 'policy.published':
        if (!answerAgain(run, input.value.command_id, 'POLICY')) onPublished(run, input.value);
        return run;
      default:
        work.reject('TOPIC_UNEXPECTED', `the run processor does not decide on ${input.topic}`);
        return undefined;
    }
  }

  /** Whoever waits for a verdict gets one; facts about an unknown run are dead-lettered. */
  private refuseUnknown(work: Workspace, input: MachineInput): void {
    const runId = (input.value as { run_id: string | null }).run_id;
    const message = `${input.topic}: run ${runId ?? '(none)'} is unknown; submit it first`;
    const commandId = (input.value as { command_id?: string }).command_id;
    if (runId === null || commandId === undefined) {
      work.reject('RUN_UNKNOWN', message);
      return;
    }
    const report = {
      run_id: runId,
      state: 'REFUSED',
      command_id: commandId,
      accepted: false,
      code: 'RUN_UNKNOWN',
      message,
    } as const;
    work.emit('run.reported', { ...report, kind: 'VERDICT' });
  }
}
