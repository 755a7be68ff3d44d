import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { ingestWorkflow } from './knowledge.ts';
import type { DocumentIntake } from './workflow.ts';
import { textFile, workflowWorld } from '../../../test/support/tenancy/workflow-world.ts';

type IngestRequest = Parameters<DocumentIntake['ingest']>[0];

function world(fail: (request: IngestRequest) => Error | null = () => null) {
  const ingested: IngestRequest[] = [];
  const flows = workflowWorld();
  const intake: DocumentIntake = {
    spaceProblem: async (organizationId, space) =>
      organizationId === 'org_1' && space === 'notes' ? null : 'is not a space of this organization',
    problemOf: ({ name }) => (name.endsWith('.png') ? `${name} is a picture.` : null),
    ingest: async (request) => {
      const error = fail(request);
      if (error) throw error;
      ingested.push(request);
      const known = { artifactUid: 'a1', revisionId: 'r1', chunks: 2 };
      return 'text' in request.document && request.document.text === 'known'
        ? { ...known, outcome: 'unchanged', state: 'completed', fallbackChunks: 2 }
        : { ...known, outcome: 'added', state: 'queued', fallbackChunks: 0 };
    },
  };
  const workflow = ingestWorkflow(intake);
  return {
    ingested,
    workflow,
    run: (...args: unknown[]) => flows.run(workflow, ...(args as [object, object])),
  };
}

describe('ingest', () => {
  it('ingests text and files into the space of the deployment, of the calling organization', async () => {
    const { run, ingested } = world();
    const answer = await run(
      { space: 'notes' },
      { parameters: { text: 'x' }, files: [textFile('a.md', 'y')] },
    );
    expect(ingested).toMatchObject([
      { organizationId: 'org_1', space: 'notes', document: { text: 'x' } },
      { organizationId: 'org_1', space: 'notes', document: { name: 'a.md' } },
    ]);
    expect(answer).toMatchObject({
      result: [
        { file: null, status: 'accepted', artifact_id: 'a1', chunks: 2 },
        { file: 'a.md', status: 'accepted', outcome: 'added' },
      ],
      warnings: [],
    });
  });

  it('reports a result per document; fails when all failed, or when a failure is retryable', async () => {
    const input = { files: [textFile('a', 'x'), textFile('b', 'y')] };
    const bad = new CoreError('INPUT_INVALID', 'no');
    const one = world(({ document }) => ('name' in document && document.name === 'a' ? bad : null));
    expect(await one.run({}, input)).toMatchObject({
      result: [
        { file: 'a', status: 'failed', error: { code: 'INPUT_INVALID' } },
        { file: 'b', status: 'accepted' },
      ],
      warnings: ['1 of 2 documents failed.'],
    });
    await expect(world(() => bad).run({}, input)).rejects.toBe(bad);
    const away = new CoreError('STATE_UNAVAILABLE', 'away', { isRetryable: true });
    await expect(
      world(({ document }) => ('name' in document && document.name === 'b' ? away : null)).run({}, input),
    ).rejects.toBe(away);
  });

  it('rejects unknown fields, and requests without a document', async () => {
    const { workflow } = world();
    expect(await workflow.checkOptions({ spaces: 'a' }, 'org_1')).toMatchObject([{ field: 'spaces' }]);
    expect(await workflow.checkInput({}, { parameters: {}, files: [] })).toMatchObject([{ field: 'files' }]);
    expect(await workflow.checkInput({}, { parameters: { text: 'a' }, files: [] })).toEqual([]);
  });

  it('reports the progress of each document, and chunks read by rules because a model failed', async () => {
    const { run } = world();
    expect(await run({}, { parameters: { text: 'known' }, files: [textFile('a.md', 'y')] })).toMatchObject({
      result: [
        { state: 'completed', fallback_chunks: 2 },
        { state: 'queued', fallback_chunks: 0 },
      ],
      warnings: [expect.stringMatching(/2 chunks were read by rules/) as string],
    });
  });

  it('rejects an image before anything is stored', async () => {
    const { workflow } = world();
    const files = [textFile('a.md', 'x'), textFile('b.png', 'y')];
    expect(await workflow.checkInput({}, { parameters: {}, files })).toEqual([
      { field: 'files[1]', message: 'b.png is a picture.' },
    ]);
  });

  it('rejects an unknown space, and warns when it was deleted later', async () => {
    const { workflow } = world();
    expect(await workflow.checkOptions({}, 'org_1')).toEqual([]);
    expect(await workflow.checkOptions({ space: 'notes' }, 'org_1')).toEqual([]);
    for (const [space, owner] of [
      ['nots', 'org_1'],
      ['notes', 'org_2'],
    ] as const)
      expect(await workflow.checkOptions({ space }, owner)).toEqual([
        { field: 'space', message: 'is not a space of this organization' },
      ]);
    expect(await workflow.warnings?.({ space: 'gone' }, 'org_1')).toEqual([
      'The space "gone" is not a space of this organization. Calls will fail until then.',
    ]);
  });
});
