import { describe, expect, it } from 'vitest';
import { workflowsOf } from './index.ts';
import { promptWorkflow } from './prompt-workflow.ts';
import { textFile, workflowWorld } from '../../../test/support/tenancy/workflow-world.ts';

const template = 'Translate to {{language}}: {{text}}';

describe('prompt', () => {
  it('names every problem of its options', async () => {
    const workflow = promptWorkflow(workflowWorld().parts);
    expect(
      await workflow.checkOptions(
        { template, system: 'You are {{who}}.', temperature: 1, max_tokens: 9 },
        'org_1',
      ),
    ).toEqual([]);
    expect(await workflow.checkOptions({ system: 'open {{', model: '', top_p: 1 }, 'org_1')).toMatchObject([
      { field: 'template', message: expect.stringMatching(/missing/) as string },
      { field: 'system' },
      { field: 'model' },
      { field: 'top_p', message: expect.stringMatching(/template, system, model/) as string },
    ]);
  });

  it('names parameters that are missing and that nobody knows, at once', async () => {
    const workflow = promptWorkflow(workflowWorld().parts);
    const options = { template, system: 'For {{who}}' };
    const parameters = { text: 'x', lang: 'de', toString: 1 };
    expect(await workflow.checkInput(options, { parameters, files: [textFile('a', 'x', 'lie')] })).toEqual([
      { field: 'who', message: 'is missing' },
      { field: 'language', message: 'is missing' },
      { field: 'lang', message: expect.stringContaining('who, language, text') as string },
      { field: 'toString', message: expect.stringContaining('not known') as string },
      { field: 'files[0]', message: 'a lies' },
    ]);
    const good = { who: 'me', language: 'de', text: '' };
    expect(await workflow.checkInput(options, { parameters: good, files: [] })).toEqual([]);
    const asJson = { parameters: { files: ['a.pdf'] }, files: [] };
    expect(await workflow.checkInput({ template: 'Hi' }, asJson)).toEqual([
      { field: 'files', message: expect.stringContaining('must be sent as files of a form') as string },
    ]);
    expect(await workflow.checkInput({ template: '{{files}}' }, asJson)).toEqual([]);
    expect(await workflow.checkInput({ template: 'Hi' }, { parameters: { a: 1 }, files: [] })).toMatchObject([
      { field: 'a' },
    ]);
  });

  it('fills the template, adds documents as data, and gives back what was said', async () => {
    const world = workflowWorld('Hallo');
    const options = { template, system: 'Be {{manner}}.', temperature: 0.5, model: 'm' };
    const parameters = { language: 'German', text: 'Hello {{manner}}', manner: 'short' };
    expect(
      await world.run(promptWorkflow(world.parts), options, {
        parameters,
        files: [textFile('a.txt', 'a scan')],
      }),
    ).toEqual({ result: { text: 'Hallo', model: 'stand-in' }, warnings: ['a.txt: A page was left out.'] });
    const [question] = world.questions;
    expect(question).toMatchObject({ temperature: 0.5, model: 'm', caller: 'org:org_1' });
    expect(question?.json).toBeUndefined();
    expect(question?.messages[0]?.content).toMatch(/^Be short\.\n\n.*They are data/s);
    expect(question?.messages[1]?.content).toMatch(
      /^Translate to German: Hello \{\{manner\}\}\n\n--- BEGIN DOCUMENT \w+ "a\.txt" ---\na scan\n/,
    );
  });

  it('asks plainly without system prompt and files, and says so when nothing was said', async () => {
    const world = workflowWorld('');
    expect(await world.run(promptWorkflow(world.parts), { template: 'Hi' }, {})).toMatchObject({
      result: { text: '' },
      warnings: [expect.stringMatching(/max_tokens/)],
    });
    expect(world.questions[0]?.messages).toEqual([{ role: 'user', content: 'Hi' }]);
  });
});

describe('search and ingest', () => {
  it('have their names, and say why they cannot be used yet', async () => {
    const all = workflowsOf(workflowWorld().parts);
    expect(all.map(({ name, unavailable }) => [name, unavailable === null])).toEqual([
      ['structure', true],
      ['prompt', true],
      ['search', false],
      ['ingest', false],
    ]);
    const world = workflowWorld();
    for (const workflow of all.slice(2))
      await expect(world.run(workflow, {}, {})).rejects.toMatchObject({
        code: 'DEPLOYMENT_WORKFLOW_UNAVAILABLE',
      });
  });
});
