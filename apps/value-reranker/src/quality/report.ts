import type { RankingDecided } from '@espalier/contracts';
import { aucOf, bestOfN, eceOf, isMixed, type BestOfN, type JudgedGroup } from './quality.ts';

/** How good the rankings were, by what the verifier said. */
export interface RankingReport {
  /** Newest model that ranked a group. */
  readonly model_version: number;
  /** Groups ranked before any model existed; not in the figures below. */
  readonly groups_without_model: number;
  /** All groups ranked by a model, of which the verifier judged a member. */
  readonly all: BestOfN;
  /** Of these, groups where the choice matters: some passed, some did not. */
  readonly mixed: BestOfN;
  readonly trajectories: number;
  /** Over all trajectories. */
  readonly auc: number | null;
  /** Within mixed groups: what ranking a group needs. */
  readonly auc_within_groups: number | null;
  /** Expected calibration error, ten bins. */
  readonly ece: number | null;
}

/** Groups remembered for the report. */
const REMEMBERED = 5_000;

/**
 * Folds ranking.decided into a report. Every value in it was predicted by a model that had not seen the group, so these
 * are held-out figures. Equal on every replica that reads the topic.
 */
export class ReportBook {
  readonly #groups = new Map<string, { readonly version: number; readonly judged: JudgedGroup }>();

  add(event: RankingDecided): void {
    const judged = event.ranked.flatMap(({ value, passed }) => (passed === null ? [] : [{ value, passed }]));
    this.#groups.delete(event.group_id);
    this.#groups.set(event.group_id, { version: event.model_version, judged });
    const [oldest] = this.#groups.keys();
    if (this.#groups.size > REMEMBERED && oldest !== undefined) this.#groups.delete(oldest);
  }

  report(): RankingReport {
    const entries = [...this.#groups.values()];
    const groups = entries.filter(({ version }) => version > 0).map(({ judged }) => judged);
    const flat = groups.flat();
    const mixed = groups.filter(isMixed);
    const within = mixed.map((group) => aucOf(group) ?? 0.5);
    return {
      model_version: Math.max(0, ...entries.map(({ version }) => version)),
      groups_without_model: entries.filter(({ version }) => version === 0).length,
      all: bestOfN(groups),
      mixed: bestOfN(mixed),
      trajectories: flat.length,
      auc: aucOf(flat),
      auc_within_groups: within.length === 0 ? null : within.reduce((sum, value) => sum + value, 0) / within.length,
      ece: eceOf(flat),
    };
  }
}
