// The examples of registered sources are accepted by a server.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { resolveConfig } from '../../src/config/index.ts';
import type { SourceInput } from '../../src/extraction/index.ts';
import { sourceInput, draftOf } from '../../src/extraction/vocabulary.ts';
import { readSourcesFile, sourceProblems } from '../../src/extraction/runs/source-service.ts';

const example = (name: string): string =>
  fileURLToPath(new URL(`../../examples/registered-sources/${name}`, import.meta.url));

const problemsOf = (input: SourceInput): readonly string[] =>
  sourceProblems(draftOf(input), resolveConfig({ flags: {}, env: {}, cwd: '/' }).extraction, {});

it('accepts the source that "sources create" registers', async () => {
  const input = sourceInput.parse(parse(await readFile(example('acme.yaml'), 'utf8')));
  expect(problemsOf(input)).toEqual([]);
  expect(draftOf(input)).toMatchObject({
    settings: {
      client_id_env: 'ACME_LOOKER_CLIENT_ID',
      client_secret_env: 'ACME_LOOKER_CLIENT_SECRET',
    },
    options: { max_calls: 5000 },
    vault: 'acme.vault',
  });
});

it('accepts the sources file and its definition', async () => {
  const inputs = await readSourcesFile(example('sources.yaml'));
  expect(inputs.map(({ name, kind }) => [name, kind])).toEqual([
    ['acme', 'looker'],
    ['helpdesk', 'rest'],
  ]);
  expect(inputs.flatMap(problemsOf)).toEqual([]);
});

it('shows the same in the documentation', async () => {
  const page = await readFile(new URL('../../docs/guide/extraction.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => parse(text) as unknown);
  const shown = blocks.filter((block) => sourceInput.safeParse(block).success);
  expect(shown).toHaveLength(1);
});
