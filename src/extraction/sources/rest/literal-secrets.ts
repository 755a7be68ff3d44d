// Secrets that stand in a source file themselves. Files are shared and kept in git: only `${NAME}` may stand there.
import { isSecretName } from '../../../core/secret-shapes.ts';
import type { Path, Problem, SourceFile } from './source-file.ts';
import { pathText } from './source-file.ts';

const secretFields = ['token', 'password', 'value', 'client_secret'];

/** One problem per literal where a secret belongs. Never says what it is. */
export function literalSecrets(file: SourceFile): readonly Problem[] {
  const root = mapping(file.value);
  const auth = mapping(root['auth']);
  const body = mapping(auth['body']);
  const resources: readonly unknown[] = Array.isArray(root['resources']) ? root['resources'] : [];
  const places: readonly Path[] = [
    ...secretFields.filter((field) => field in auth).map((field) => ['auth', field]),
    ...secretKeys(body).map((key) => ['auth', 'body', key]),
    ...secretKeys(mapping(root['headers'])).map((key) => ['headers', key]),
    ...resources.flatMap((resource, index) =>
      secretKeys(mapping(mapping(resource)['query'])).map((key) => ['resources', index, 'query', key]),
    ),
  ];
  const literal = places.filter((path) => !file.variables.has(pathText(path)));
  const isLoginWithout =
    auth['type'] === 'login' &&
    Object.keys(body).every((key) => !file.variables.has(pathText(['auth', 'body', key]))) &&
    literal.length === 0;
  return [...literal, ...(isLoginWithout ? [['auth', 'body']] : [])].map((path) => ({
    line: file.lineOf(path),
    text: `${pathText(path)}: a secret does not belong into this file; write \${NAME} and set that environment variable`,
  }));
}

const secretKeys = (map: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(map).filter(isSecretName);

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
