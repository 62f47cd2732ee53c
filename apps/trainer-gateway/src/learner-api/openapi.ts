import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiQuery, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { z } from 'zod';

type Schema = NonNullable<Parameters<typeof ApiBody>[0] extends { schema?: infer S } ? S : never>;

const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0' }) as Schema;

/** Describes a request body by the schema that checks it. */
export const DescribedBody = (schema: z.ZodType): MethodDecorator => ApiBody({ schema: schemaOf(schema) });

/** Describes the query parameters by the schema that checks them. */
export const DescribedQuery = (schema: z.ZodObject): MethodDecorator & ClassDecorator =>
  applyDecorators(
    ...Object.entries(schema.shape).map(([name, field]) =>
      ApiQuery({
        name,
        required: !z.safeParse(field as z.ZodType, undefined).success,
        schema: schemaOf(field as z.ZodType),
      }),
    ),
  );

/** Serves the OpenAPI document of the service at `/openapi.json`. */
export function serveOpenApi(app: NestFastifyApplication): void {
  const description = new DocumentBuilder()
    .setTitle('Espalier trainer-gateway')
    .setDescription(
      'Runs, learner sessions, batches, acknowledgements and policy versions. Errors are {code, message}.',
    )
    .setVersion('1')
    .build();
  const document = SwaggerModule.createDocument(app, description);
  app
    .getHttpAdapter()
    .get('/openapi.json', (_request: FastifyRequest, reply: FastifyReply) => void reply.send(document));
}
