export { SandboxClient, type SandboxClientOptions } from './client.ts';
export {
  ExecChannelError,
  ModelFrameError,
  ModelStreamLostError,
  ModelStreamStaleError,
  SandboxCreateError,
  SandboxError,
  SandboxFileError,
  SandboxLostError,
  SandboxManagerUnavailableError,
  SandboxNotReadyError,
  SandboxRequestError,
} from './errors.ts';
export { agentDestination } from './http/destination.ts';
export { encodeFrame, FrameReader, frameType, MAX_FRAME_BYTES, type Frame } from './model-stream/frames.ts';
export { openModelStream } from './model-stream/open-model-stream.ts';
export type { ModelAnswer, ModelCall, ModelStream, ModelStreamEnd, ModelStreamOptions } from './model-stream/types.ts';
export type {
  AgentAccess,
  CallOptions,
  ExecRequest,
  FileEntry,
  Job,
  JobOutput,
  JobState,
  Sandbox,
  SandboxSpec,
  SandboxStatus,
} from './types.ts';
export { SandboxHandle, type HandleCommand, type HandleResult } from './sandbox-handle.ts';
