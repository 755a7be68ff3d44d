import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { workflowsOf } from './index.ts';
import { ingestWorkflow } from './ingest-workflow.ts';
import type { DocumentIntake } from './workflow-parts.ts';
import { textFile, workflowWorld } from './workflow-world.contract.ts';

type Taken = Parameters<DocumentIntake['take']>[0];

function world(refuse: (wish: Taken) => Error | null = () => null) {
  const taken: Taken[] = [];
  const flows = workflowWorld();
  const intake: DocumentIntake = {
    take: async (wish) => {
      const error = refuse(wish);
      if (error) throw error;
      taken.push(wish);
      return { outcome: 'added', artifactUid: 'a1', revisionId: 'r1', jobId: 'j1', chunks: 2 };
    },
  };
  const workflow = ingestWorkflow(flows.parts, intake);
  return { taken, workflow, run: (...args: unknown[]) => flows.run(workflow, ...(args as [object, object])) };
}

describe('ingest', () => {
  it('takes text and files into the space that the deployment names, of the organization that calls', async () => {
    const { run, taken } = world();
    const answer = await run(
      { space: 'notes' },
      { parameters: { text: 'x' }, files: [textFile('a.md', 'y')] },
    );
    expect(taken).toMatchObject([
      { organizationId: 'org_1', space: 'notes', document: { text: 'x' } },
      { organizationId: 'org_1', space: 'notes', document: { name: 'a.md' } },
    ]);
    expect(answer).toMatchObject({
      result: [
        { file: null, status: 'accepted', artifact_uid: 'a1', chunks: 2 },
        { file: 'a.md', status: 'accepted', outcome: 'added' },
      ],
      warnings: [],
    });
  });

  it('says of each document what became of it; fails when none was taken, or when another try may help', async () => {
    const input = { files: [textFile('a', 'x'), textFile('b', 'y')] };
    const bad = new CoreError('INPUT_INVALID', 'no');
    const one = world(({ document }) => ('name' in document && document.name === 'a' ? bad : null));
    expect(await one.run({}, input)).toMatchObject({
      result: [
        { file: 'a', status: 'error', error: { code: 'INPUT_INVALID' } },
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

  it('refuses what it does not know, and calls without a document', async () => {
    const { workflow } = world();
    expect(await workflow.checkOptions({ space: 'a' })).toEqual([]);
    expect(await workflow.checkOptions({ spaces: 'a' })).toMatchObject([{ field: 'spaces' }]);
    expect(await workflow.checkInput({}, { parameters: {}, files: [] })).toMatchObject([{ field: 'files' }]);
    expect(await workflow.checkInput({}, { parameters: { text: 'a' }, files: [] })).toEqual([]);
  });

  it('is unavailable where nothing keeps knowledge', () => {
    const ingest = workflowsOf(workflowWorld().parts).find(({ name }) => name === 'ingest');
    expect(ingest?.unavailable).toMatch(/knowledge/);
  });
});
