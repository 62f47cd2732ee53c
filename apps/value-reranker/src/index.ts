export { AppModule } from './app.module.ts';
export { settings, type ValueRerankerConfig } from './config.ts';
export { valueReranker } from './service.ts';
