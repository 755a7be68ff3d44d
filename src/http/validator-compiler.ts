// Reads requests by their schemas, and says in words of ours what is wrong with them.
import type { FastifySchemaCompiler } from 'fastify';
import type { $ZodType } from 'zod/v4/core';
import { safeParse } from 'zod/v4/core';
import { zodErrorMessage } from '../core/index.ts';

/** For fastify's setValidatorCompiler. What a schema says itself counts before what is said here. */
export const validatorCompiler: FastifySchemaCompiler<$ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = safeParse(schema, data, { error: zodErrorMessage });
    if (!error) return { value };
    return {
      // As fastify wants them; its types know only an Error.
      error: error.issues.map(({ code, path, message, ...params }) => ({
        keyword: code,
        instancePath: `/${path.join('/')}`,
        schemaPath: '',
        message,
        params,
      })) as unknown as Error,
    };
  };
