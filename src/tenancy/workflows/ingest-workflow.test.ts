import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { workflowsOf } from './index.ts';
import { ingestWorkflow } from './ingest-workflow.ts';
import type { DocumentIntake } from './workflow-parts.ts';
import { textFile, workflowWorld } from '../../../test/support/tenancy/workflow-world.ts';

type Taken = Parameters<DocumentIntake['take']>[0];

function world(refuse: (wish: Taken) => Error | null = () => null) {
  const taken: Taken[] = [];
  const flows = workflowWorld();
  const intake: DocumentIntake = {
    spaceProblem: async (organizationId, space) =>
      organizationId === 'org_1' && space === 'notes' ? null : 'is no space of this organization',
    problemOf: ({ name }) => (name.endsWith('.png') ? `${name} is a picture.` : null),
    take: async (wish) => {
      const error = refuse(wish);
      if (error) throw error;
      taken.push(wish);
      const known = { artifactUid: 'a1', revisionId: 'r1', chunks: 2 };
      return 'text' in wish.document && wish.document.text === 'known'
        ? { ...known, outcome: 'unchanged', jobId: null, state: 'complete', stoodIn: 2 }
        : { ...known, outcome: 'added', jobId: 'j1', state: 'processing', stoodIn: 0 };
    },
  };
  const workflow = ingestWorkflow(intake);
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
    expect(await workflow.checkOptions({ spaces: 'a' }, 'org_1')).toMatchObject([{ field: 'spaces' }]);
    expect(await workflow.checkInput({}, { parameters: {}, files: [] })).toMatchObject([{ field: 'files' }]);
    expect(await workflow.checkInput({}, { parameters: { text: 'a' }, files: [] })).toEqual([]);
  });

  it('tells how far each document is read, and when rules stood in for a model that failed', async () => {
    const { run } = world();
    expect(await run({}, { parameters: { text: 'known' }, files: [textFile('a.md', 'y')] })).toMatchObject({
      result: [
        { state: 'complete', stood_in: 2 },
        { state: 'processing', stood_in: 0 },
      ],
      warnings: [expect.stringMatching(/rules read 2 chunks/) as string],
    });
  });

  it('refuses a picture before anything is stored', async () => {
    const { workflow } = world();
    const files = [textFile('a.md', 'x'), textFile('b.png', 'y')];
    expect(await workflow.checkInput({}, { parameters: {}, files })).toEqual([
      { field: 'files[1]', message: 'b.png is a picture.' },
    ]);
  });

  it('refuses a space that the organization does not have, and warns when it went later', async () => {
    const { workflow } = world();
    expect(await workflow.checkOptions({}, 'org_1')).toEqual([]);
    expect(await workflow.checkOptions({ space: 'notes' }, 'org_1')).toEqual([]);
    for (const [space, owner] of [
      ['nots', 'org_1'],
      ['notes', 'org_2'],
    ] as const)
      expect(await workflow.checkOptions({ space }, owner)).toEqual([
        { field: 'space', message: 'is no space of this organization' },
      ]);
    expect(await workflow.warnings?.({ space: 'gone' }, 'org_1')).toEqual([
      'The space "gone" is no space of this organization. Calls will fail until then.',
    ]);
  });

  it('is unavailable where nothing keeps knowledge', () => {
    const ingest = workflowsOf(workflowWorld().parts).find(({ name }) => name === 'ingest');
    expect(ingest?.unavailable).toMatch(/knowledge/);
  });
});
