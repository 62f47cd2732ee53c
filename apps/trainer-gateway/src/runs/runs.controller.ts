import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ApiError, runUnknown } from '../learner-api/api-error.ts';
import { Commands } from '../learner-api/commands.ts';
import { answer } from '../learner-api/learner.controller.ts';
import { DescribedBody } from '../learner-api/openapi.ts';
import { commandRequest, parse } from '../learner-api/requests.ts';
import { RunBoard, type RunStatus } from './run-board.ts';

/** Status of runs, and commands to them. */
@ApiTags('runs')
@Controller('v1/runs')
export class RunsController {
  constructor(
    @Inject(RunBoard) private readonly runs: RunBoard,
    @Inject(Commands) private readonly commands: Commands,
  ) {}

  @Get()
  @ApiOperation({ summary: 'All runs, newest first' })
  list(): { runs: RunStatus[] } {
    return { runs: this.runs.list() };
  }

  @Get(':run')
  @ApiOperation({ summary: 'State, counters and what the run waits for' })
  show(@Param('run') run: string): RunStatus {
    const status = this.runs.get(run);
    if (!status) throw runUnknown(run);
    return status;
  }

  @Post(':run/commands')
  @HttpCode(200)
  @ApiOperation({ summary: 'Pause, resume, cancel, close tasks, change' })
  @DescribedBody(commandRequest)
  async command(
    @Param('run') run: string,
    @Body() body: unknown,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const request = parse(commandRequest, body);
    const result = await this.commands.send(run, 'run.commanded', {
      run_id: run,
      command_id: this.commands.commandId('command', key),
      command: request.command,
      reason: request.reason,
      change_json: request.change ? JSON.stringify(request.change) : null,
    });
    return answer(reply, run, result);
  }

  @Get(':run/commands/:command')
  @ApiOperation({ summary: 'The verdict on a command, once there is one' })
  verdict(@Param('run') run: string, @Param('command') command: string): object {
    if (!this.runs.get(run)) throw runUnknown(run);
    const verdict = this.runs.verdict(run, command);
    if (!verdict) throw new ApiError(404, 'COMMAND_PENDING', `no verdict on ${command} yet; ask again`);
    return verdict;
  }
}
