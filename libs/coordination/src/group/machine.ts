import {
  parseId,
  type Effects,
  type Failure,
  type GroupOpened,
  type GroupCommanded,
  type MachineInput,
  type Renewal,
  type StateMachine,
  type StateView,
} from '@espalier/contracts';
import { Workspace } from '../state/workspace.ts';
import { DEFAULT_TIMINGS, type Timings } from '../timings.ts';
import { claimLost, replaceAttempt } from './attempts.ts';
import { onReported, refuse } from './claims.ts';
import { attemptOf, attemptsOf, endAttempt, findGroup, headOf, rule, type OpenGroup } from './context.ts';
import { forgetTimer, frozenKey, headKey, leaseTimer, type GroupFrozen, type GroupHead } from './entries.ts';
import { workerLost } from './failures.ts';
import { decide, judge, shrinkWhenSettled } from './judgement.ts';
import { afterVerdict, loseScoring, onRecorded, onReward } from './results.ts';
import { nullReward, scorerKey, scoringOf, settleScoring } from './scoring.ts';

/**
 * The GroupProcessor's state machine: owns every attempt of a group from request to class, rules on claims, waits for
 * scorers, balances and decides. Pure: see {@link StateMachine}.
 */
export class GroupMachine implements StateMachine {
  readonly name = 'group';
  readonly inputs = [
    'group.opened',
    'group.commanded',
    'rollout.reported',
    'trajectory.recorded',
    'reward.reported',
    'rollout.alive',
  ] as const;
  readonly heartbeatInputs = ['rollout.alive'] as const;
  readonly stateTopic = 'state.group' as const;
  readonly journalTopic = 'journal.group' as const;
  readonly stateVersion = 1;
  private readonly timings: Timings;

  constructor(timings: Timings = DEFAULT_TIMINGS) {
    this.timings = timings;
  }

  decide(state: StateView, input: MachineInput, now: number): Effects {
    const work = new Workspace(state, now);
    switch (input.topic) {
      case 'group.opened':
        this.open(work, input.value);
        break;
      case 'group.commanded':
        this.command(work, input.value);
        break;
      case 'rollout.reported': {
        const group = findGroup(work, this.timings, input.value.group_id);
        if (group) onReported(group, input.value);
        else if (input.value.kind !== 'RELEASED')
          refuse({ work }, input.value, work.get<GroupHead>(headKey(input.value.group_id)) ? 'ENDED' : 'UNKNOWN_WORK');
        break;
      }
      case 'trajectory.recorded': {
        const group = findGroup(work, this.timings, input.value.group_id);
        if (group) onRecorded(group, input.value);
        else
          rule(work, {
            work: 'ROLLOUT',
            workId: input.value.attempt_id,
            attemptId: input.value.attempt_id,
            verdict: 'CANCELLED',
            epoch: input.value.epoch,
            workerId: input.value.worker_id,
            claimId: input.value.claim_id,
            reason: work.get<GroupHead>(headKey(input.value.group_id)) ? 'ENDED' : 'UNKNOWN_WORK',
          });
        break;
      }
      case 'reward.reported': {
        const group = findGroup(work, this.timings, input.value.group_id);
        if (group) onReward(group, input.value);
        break;
      }
      default:
        work.reject('TOPIC_UNEXPECTED', `the group processor does not decide on ${input.topic}`);
    }
    return work.effects;
  }

  fire(state: StateView, timer: string, now: number): Effects {
    const work = new Workspace(state, now);
    const [kind = '', subject = '', epoch = '0'] = timer.split('|');
    if (kind === 'forget') {
      this.forget(work, subject);
      return work.effects;
    }
    const { groupId, rolloutIndex = 0, attemptNo = 0 } = parseId(subject);
    const group = findGroup(work, this.timings, groupId);
    const attempt = group && attemptOf(group, `${groupId}/r${rolloutIndex}/a${attemptNo}`);
    if (!group || !attempt) return work.effects;
    const scoring = scoringOf(attempt, subject);
    switch (kind) {
      case 'lease':
        if (scoring) {
          if (scoring[1].state === 'CLAIMED' && scoring[1].epoch === Number(epoch))
            loseScoring(
              group,
              attempt,
              scoring[0],
              workerLost('SCORER_LOST', `no heartbeat from the scorer of ${subject}`),
            );
        } else if (attempt.state === 'CLAIMED' && attempt.epoch === Number(epoch)) {
          // Should the worker only have been frozen: it is no longer the holder, and leaves the sandbox to the next one.
          rule(work, {
            work: 'ROLLOUT',
            workId: attempt.attemptId,
            attemptId: attempt.attemptId,
            verdict: 'DENIED',
            epoch: attempt.epoch,
            workerId: attempt.workerId,
            claimId: attempt.claimId,
            reason: 'LEASE_EXPIRED',
          });
          claimLost(group, attempt, workerLost('RUNNER_LOST', `no heartbeat from ${attempt.workerId ?? 'the runner'}`));
          judge(group);
        }
        break;
      case 'overdue':
        if (attempt.state === 'CLAIMED') {
          replaceAttempt(
            group,
            attempt,
            workerLost('RUNNER_OVERDUE', `${attempt.workerId ?? 'the runner'} is alive but late`),
          );
          judge(group);
        }
        break;
      case 'deadline':
        if (attempt.state === 'REQUESTED' || attempt.state === 'CLAIMED') {
          replaceAttempt(group, attempt, workerLost('ATTEMPT_DEADLINE', 'not recorded before its deadline'));
          judge(group);
        }
        break;
      case 'scorer':
        if (scoring && scoring[1].state !== 'DONE') {
          const scorer = group.frozen.spec.scorers.find((entry) => scorerKey(entry) === scoring[0]);
          if (!scorer) break;
          const failure = workerLost('SCORER_TIMEOUT', `${scoring[0]} gave no verdict within ${scorer.deadline_ms} ms`);
          afterVerdict(group, settleScoring(group, attempt, scoring[0], nullReward(scorer, 'TIMEOUT', failure)));
        }
        break;
      default:
        work.reject('TIMER_UNKNOWN', `timer ${timer}`);
    }
    return work.effects;
  }

  abandon(state: StateView, input: MachineInput, error: Error, now: number): Effects {
    const work = new Workspace(state, now);
    work.reject('PROCESSOR_BUG', `${error.name}: ${error.message}`);
    const groupId = (input.value as { group_id?: string }).group_id;
    const group = groupId === undefined ? undefined : findGroup(work, this.timings, groupId);
    if (!group || headOf(group).status === 'DECIDED') return work.effects;
    const failure: Failure = {
      class: 'INFRA',
      code: 'PROCESSOR_BUG',
      message: error.message,
      stage: null,
      retryable: false,
    };
    for (const attempt of attemptsOf(group))
      if (attempt.state !== 'ENDED') endAttempt(group, attempt, { outcome: 'FAILED', failure });
    decide(group, { outcome: 'FAILED', selection: 'NONE', reason: 'PROCESSOR_BUG', selected: [] });
    return work.effects;
  }

  renewals(input: MachineInput, now: number): readonly Renewal[] {
    if (input.topic !== 'rollout.alive') return [];
    return input.value.work.map((item) => ({
      timer: leaseTimer(item.work_id, item.epoch),
      until: now + this.timings.leaseMs,
    }));
  }

  private open(work: Workspace, event: GroupOpened): void {
    if (work.get<GroupHead>(headKey(event.group_id))) return;
    const frozen: GroupFrozen = {
      runId: event.run_id ?? parseId(event.group_id).runId,
      groupId: event.group_id,
      admission: event.admission,
      openedAt: work.now,
      policyVersion: event.policy_version,
      task: event.task,
      spec: event.spec,
    };
    const head: GroupHead = {
      status: 'OPEN',
      runId: frozen.runId,
      launched: 0,
      replaced: 0,
      scored: 0,
      outcome: null,
    };
    work.put(frozenKey(event.group_id), 'group-frozen', frozen);
    work.put(headKey(event.group_id), 'group-head', head);
    judge({ work, timings: this.timings, frozen });
  }

  private command(work: Workspace, event: GroupCommanded): void {
    const group: OpenGroup | undefined = findGroup(work, this.timings, event.group_id);
    if (!group && !work.get<GroupHead>(headKey(event.group_id))) {
      // The command overtook group.opened: the marker stops the group before it starts.
      this.closeUnopened(work, event);
      return;
    }
    if (!group || headOf(group).status === 'DECIDED') return;
    switch (event.command) {
      case 'CANCEL':
        decide(group, { outcome: 'CANCELLED', selection: 'NONE', reason: event.reason, selected: [] });
        return;
      case 'STALE':
        decide(group, { outcome: 'FILTERED', selection: 'NONE', reason: 'STALE', selected: [] });
        return;
      case 'UNKNOWN':
        work.reject('COMMAND_UNKNOWN', `group ${event.group_id}: unknown command`);
        return;
      default:
        event.command satisfies never;
    }
  }

  private closeUnopened(work: Workspace, event: GroupCommanded): void {
    const { runId, taskId } = parseId(event.group_id);
    const outcome = event.command === 'STALE' ? 'FILTERED' : 'CANCELLED';
    const head: GroupHead = { status: 'DECIDED', runId, launched: 0, replaced: 0, scored: 0, outcome };
    work.put(headKey(event.group_id), 'group-head', head);
    work.setTimer(forgetTimer(event.group_id), work.now + this.timings.markerMs);
    work.emit('group.decided', {
      run_id: runId,
      group_id: event.group_id,
      task_id: taskId,
      outcome,
      selection: 'NONE',
      reason: event.reason,
      members: [],
      scored: 0,
      passed: 0,
      idempotency_key: `${event.group_id}#decided`,
    });
  }

  /** The marker has served its time. */
  private forget(work: Workspace, groupId: string): void {
    const group = findGroup(work, this.timings, groupId);
    if (group) {
      for (const attempt of attemptsOf(group))
        if (attempt.state !== 'ENDED')
          endAttempt(group, attempt, { outcome: 'FAILED', failure: workerLost('SCORER_TIMEOUT', 'never scored') });
      shrinkWhenSettled(group);
    }
    work.remove(headKey(groupId));
  }
}
