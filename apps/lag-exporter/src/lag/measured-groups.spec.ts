import { expect, it } from 'vitest';
import { labelsOf, measuredGroups } from './measured-groups.ts';

it('measures every group of the catalogue but heartbeats, under the names the broker has', () => {
  const measured = measuredGroups();
  expect(measured).toContainEqual({ group: 'rollout-runner', topic: 'rollout.requested' });
  expect(measured).toContainEqual({ group: 'prm-service', topic: 'scoring.requested' });
  expect(measured.some(({ topic }) => topic === 'rollout.alive')).toBe(false);
  expect(labelsOf('espalier', { group: 'rollout-runner', topic: 'rollout.requested' }, 3)).toEqual({
    group: 'espalier.rollout-runner',
    topic: 'espalier.rollout.requested.v1',
    partition: '3',
  });
});
