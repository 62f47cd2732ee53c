import { messageKey, messageText, type ChatMessage } from './canonical-message.ts';

/** What a model call is for: `main` thread, `sub` agent, `side` question, `title` of the session, `compaction` of it. */
export type CallClass = 'main' | 'side' | 'sub' | 'title' | 'compaction';

/** What the class is judged by. */
export interface ClassedCall {
  /** First message of its path. */
  readonly root: ChatMessage | undefined;
  /** Last message of the prompt. */
  readonly last: ChatMessage | undefined;
  readonly tools: boolean;
}

const COMPACTION =
  /CONTEXT CHECKPOINT COMPACTION|CRITICAL: Respond with TEXT ONLY|summar(?:y|ize) (?:of )?(?:the|our|this) conversation/i;
const TITLE = /(?:generate|write|create)\b.{0,80}\btitle\b/i;

/**
 * Classes a call by signature, since no header can be relied on. `before` is the class of the call it continues, `main` the
 * first call of the attempt.
 */
export function classOf(call: ClassedCall, before: CallClass | null, main: ClassedCall | null): CallClass {
  if (call.last && COMPACTION.test(messageText(call.last))) return 'compaction';
  if (before) return before === 'compaction' ? 'main' : before;
  if (!call.tools && call.root && TITLE.test(messageText(call.root))) return 'title';
  if (!main) return 'main';
  // History that starts again under the main thread's own system prompt is the main thread after a compaction or a retry.
  if (call.root && main.root && messageKey(call.root) === messageKey(main.root)) return 'main';
  return call.tools ? 'sub' : 'side';
}
