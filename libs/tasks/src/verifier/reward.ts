import { RewardError } from '../errors.ts';

/** Where the verifier's results lie in the sandbox. */
export const VERIFIER_LOGS = '/logs/verifier';
export const REWARD_JSON = `${VERIFIER_LOGS}/reward.json`;
export const REWARD_TEXT = `${VERIFIER_LOGS}/reward.txt`;

/** The reward files as found after the tests ran; null where there is none. */
export interface RewardFiles {
  readonly json: string | null;
  readonly text: string | null;
}

/** Rewards by name; a reward.txt gives `reward`. Every value is finite. */
export type Rewards = Readonly<Record<string, number>>;

/**
 * Reads the rewards as Harbor does: reward.json, where it exists, wins over reward.txt even when it is broken.
 * @throws {RewardError} with a code for each way in which there is none.
 */
export function parseRewards({ json, text }: RewardFiles): Rewards {
  if (json !== null) return parseRewardJson(json);
  if (text !== null) return { reward: parseRewardText(text) };
  throw new RewardError('REWARD_FILE_MISSING', `The tests wrote neither ${REWARD_JSON} nor ${REWARD_TEXT}`);
}

/**
 * The one number of `rewards` that is the score: the named one, else `reward`, else the only one.
 * @throws {RewardError} `REWARD_KEY_MISSING` when there is no such number.
 */
export function scoreOf(rewards: Rewards, rewardKey?: string): number {
  const names = Object.keys(rewards);
  const only = names.length === 1 ? names[0] : undefined;
  const name = rewardKey ?? (Object.hasOwn(rewards, 'reward') ? 'reward' : only);
  const score = name === undefined || !Object.hasOwn(rewards, name) ? undefined : rewards[name];
  if (score === undefined) {
    throw new RewardError(
      'REWARD_KEY_MISSING',
      `${REWARD_JSON} has ${names.length === 0 ? 'no reward' : `the rewards ${names.join(', ')}`}, not "${rewardKey ?? 'reward'}"`,
    );
  }
  return score;
}

function parseRewardJson(json: string): Rewards {
  if (json === '') throw new RewardError('REWARD_FILE_EMPTY', `${REWARD_JSON} is empty`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // JSON has no NaN; Python writes it all the same.
    if (/(?:^|[\s:,[])-?(?:NaN|Infinity)\b/.test(json)) throw notFinite(REWARD_JSON, json);
    throw unparsable(REWARD_JSON, json);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unparsable(REWARD_JSON, json);
  const rewards: [string, number][] = [];
  for (const [name, reward] of Object.entries(value)) {
    // Python counts true and false as numbers, and so does Harbor.
    const number: unknown = typeof reward === 'boolean' ? Number(reward) : reward;
    if (typeof number !== 'number') throw unparsable(REWARD_JSON, json);
    if (!Number.isFinite(number)) throw notFinite(REWARD_JSON, json);
    rewards.push([name, number]);
  }
  return Object.fromEntries(rewards);
}

/** What Python's `float()` takes. */
const FLOAT = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const NOT_FINITE = /^[+-]?(?:nan|inf|infinity)$/i;

function parseRewardText(text: string): number {
  if (text === '') throw new RewardError('REWARD_FILE_EMPTY', `${REWARD_TEXT} is empty`);
  const trimmed = text.trim();
  if (NOT_FINITE.test(trimmed)) throw notFinite(REWARD_TEXT, text);
  if (!FLOAT.test(trimmed)) throw unparsable(REWARD_TEXT, text);
  const value = Number(trimmed.replaceAll('_', ''));
  if (!Number.isFinite(value)) throw notFinite(REWARD_TEXT, text);
  return value;
}

const excerpt = (content: string): string =>
  JSON.stringify(content.length > 80 ? `${content.slice(0, 80)}...` : content);
const unparsable = (file: string, content: string): RewardError =>
  new RewardError('REWARD_UNPARSABLE', `${file} holds ${excerpt(content)}, which is no reward`);
const notFinite = (file: string, content: string): RewardError =>
  new RewardError('REWARD_NOT_FINITE', `${file} holds ${excerpt(content)}, which is not finite`);
