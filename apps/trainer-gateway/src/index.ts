export { AppModule } from './app.module.ts';
export { trainerGatewayConfig, type TrainerGatewayConfig } from './config.ts';
