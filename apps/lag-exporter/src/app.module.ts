import { Module } from '@nestjs/common';
import { LagService } from './lag/lag.service.ts';

/** Measures consumer lag; what is scaled by it must not measure itself. */
@Module({ providers: [LagService] })
export class AppModule {}
