import { createHash } from 'node:crypto';
import { parsePrompt, renderAnswer, type Conversation, type Turn } from './chat-template.ts';
import { assignmentOf } from './instruction.ts';
import { editsOf, printCommand, printedLines, type Edit } from './program-edits.ts';

/** What the policy may answer to a prompt. */
export interface Choices {
  /** Hash of the instruction and the edits made so far: where learned logits are looked up. */
  readonly stateKey: string;
  /** The answers as token sequences, each with its end, none twice; never empty. */
  readonly answers: readonly (readonly number[])[];
}

/** A string argument `command`, as the one-tool harness takes it. */
const commandCall = (tool: string, command: string): Pick<Turn, 'text' | 'calls'> => ({
  text: '',
  calls: [{ name: tool, arguments: JSON.stringify({ command }) }],
});

const say = (text: string): Pick<Turn, 'text' | 'calls'> => ({ text, calls: [] });

function commandOf(call: { readonly arguments: string } | undefined): string | null {
  try {
    const parsed: unknown = JSON.parse(call?.arguments ?? '');
    if (typeof parsed === 'object' && parsed !== null && 'command' in parsed)
      return typeof parsed.command === 'string' ? parsed.command : null;
  } catch {
    // Not JSON: not a call of this policy.
  }
  return null;
}

/** The program as it stands after the edits of a conversation. */
interface Program {
  readonly lines: readonly string[];
  readonly made: readonly Edit[];
}

function programOf(conversation: Conversation, path: string): Program | null {
  const { turns } = conversation;
  let lines: string[] | null = null;
  const made: Edit[] = [];
  for (const [at, turn] of turns.entries()) {
    if (turn.role !== 'assistant') continue;
    const command = commandOf(turn.calls[0]);
    if (command === printCommand(path) && lines === null) lines = printedLines(turns[at + 1]?.text ?? '');
    const edit = lines && editsOf(path, lines).find((one) => one.command === command);
    if (!edit || !lines) continue;
    lines[edit.line - 1] = edit.after;
    made.push(edit);
  }
  return lines && { lines, made };
}

/**
 * The policy's rule, from the prompt alone: print the program that the instruction names; then make single-line edits
 * out of all that the operators allow on what was printed, as many as the instruction tells of problems; then say so.
 * It sees the task's public files by way of its own tool calls and nothing else.
 */
export function choicesFor(prompt: readonly number[]): Choices {
  const conversation = parsePrompt(prompt);
  const instruction = conversation.turns.find(({ role }) => role === 'user')?.text ?? '';
  const tool = conversation.tools[0];
  const { path, edits: wanted } = assignmentOf(instruction);
  const program = path === null || tool === undefined ? null : programOf(conversation, path);
  const made = program?.made ?? [];
  const stateKey = createHash('sha256')
    .update([instruction, ...made.map(({ command }) => command)].join('\0'))
    .digest('hex')
    .slice(0, 16);
  return { stateKey, answers: answersFor(tool, path, wanted, program).map(renderAnswer) };
}

function answersFor(
  tool: string | undefined,
  path: string | null,
  wanted: number,
  program: Program | null,
): Pick<Turn, 'text' | 'calls'>[] {
  if (tool === undefined) return [say('I cannot work on this without a tool.')];
  if (path === null) return [say('The instruction names no program file that I can read.')];
  if (!program) return [commandCall(tool, printCommand(path))];
  if (program.made.length >= wanted) return [say(`I edited ${path}; it should work now.`)];
  const touched = new Set(program.made.map(({ line }) => line));
  const edits = editsOf(path, program.lines).filter(({ line }) => !touched.has(line));
  if (edits.length === 0) return [say(`I see nothing in ${path} that I know how to change.`)];
  return edits.map(({ command }) => commandCall(tool, command));
}
