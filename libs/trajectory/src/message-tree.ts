import { messageKey, type ChatMessage } from './canonical-message.ts';

/** Number of no node: the parent of a root. */
export const NO_NODE = -1;

/** A message in the tree. */
export interface TreeNode {
  readonly nodeNo: number;
  /** {@link NO_NODE} at a root. */
  readonly parent: number;
  readonly message: ChatMessage;
  readonly sampled: boolean;
  /** Call that sampled it; -1 otherwise. */
  readonly callNo: number;
  /** Messages on the path from the root, this one included. */
  readonly depth: number;
  /** Call of the deepest sampled node on the path, this one included; -1 when there is none. */
  readonly sampledCall: number;
  /** When it was first seen, milliseconds UTC. */
  readonly timestamp: number;
}

/** The deepest known path of a request's messages. */
export interface TreeMatch {
  /** Messages that are known. */
  readonly depth: number;
  /** Nodes that end equal paths of that depth: several when the policy gave equal answers in several calls. */
  readonly candidates: readonly TreeNode[];
}

/**
 * The messages of an attempt, append-only. Messages that a harness sends are merged with equal ones at the same place;
 * every answer is a node of its own, even when another call gave the same text, since its tokens were sampled apart.
 */
export class MessageTree {
  readonly #nodes: TreeNode[] = [];
  readonly #children = new Map<number, Map<string, number[]>>();

  get nodes(): readonly TreeNode[] {
    return this.#nodes;
  }

  node(nodeNo: number): TreeNode | undefined {
    return this.#nodes[nodeNo];
  }

  /** Finds the deepest known path that the request's messages begin with. */
  match(messages: readonly ChatMessage[]): TreeMatch {
    let frontier: readonly number[] = [NO_NODE];
    let depth = 0;
    for (const message of messages) {
      const key = messageKey(message);
      const next = frontier.flatMap((parent) => this.#children.get(parent)?.get(key) ?? []);
      if (next.length === 0) break;
      frontier = next;
      depth += 1;
    }
    return { depth, candidates: frontier.flatMap((nodeNo) => this.node(nodeNo) ?? []) };
  }

  /** Attaches messages below `parent`, re-using equal ones that were not sampled; returns the last node's number. */
  attach(parent: number, messages: readonly ChatMessage[], timestamp: number): number {
    let at = parent;
    for (const message of messages) {
      const known = this.#children.get(at)?.get(messageKey(message)) ?? [];
      at = known.find((nodeNo) => this.node(nodeNo)?.sampled === false) ?? this.#add(at, message, -1, timestamp);
    }
    return at;
  }

  /** Adds the policy's answer to `parent`; returns its number. */
  answer(parent: number, message: ChatMessage, callNo: number, timestamp: number): number {
    return this.#add(parent, message, callNo, timestamp);
  }

  /** The first message of the path that ends in `nodeNo`. */
  rootOf(nodeNo: number): TreeNode | undefined {
    let node = this.node(nodeNo);
    while (node && node.parent !== NO_NODE) node = this.node(node.parent);
    return node;
  }

  #add(parent: number, message: ChatMessage, callNo: number, timestamp: number): number {
    const above = this.node(parent);
    const node: TreeNode = {
      nodeNo: this.#nodes.length,
      parent,
      message,
      sampled: callNo >= 0,
      callNo,
      depth: (above?.depth ?? 0) + 1,
      sampledCall: callNo >= 0 ? callNo : (above?.sampledCall ?? -1),
      timestamp,
    };
    this.#nodes.push(node);
    const siblings = this.#children.get(parent) ?? new Map<string, number[]>();
    this.#children.set(parent, siblings);
    const key = messageKey(message);
    siblings.set(key, [...(siblings.get(key) ?? []), node.nodeNo]);
    return node.nodeNo;
  }
}
