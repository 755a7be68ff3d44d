import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { openWorkflows } from '../open-tenancy.ts';
import { workflowNames } from '../vocabulary.ts';
import { promptWorkflow } from './prompt.ts';
import { textFile, workflowWorld } from '../../../test/support/tenancy/workflow-world.ts';

const template = 'Translate to {{language}}: {{text}}';

describe('prompt', () => {
  it('reports every problem of its options', async () => {
    const workflow = promptWorkflow(workflowWorld().deps);
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

  it('reports missing and unknown parameters in one go', async () => {
    const workflow = promptWorkflow(workflowWorld().deps);
    const options = { template, system: 'For {{who}}' };
    const parameters = { text: 'x', lang: 'de', toString: 1 };
    expect(await workflow.checkInput(options, { parameters, files: [textFile('a', 'x', 'lie')] })).toEqual([
      { field: 'who', message: 'is missing' },
      { field: 'language', message: 'is missing' },
      { field: 'lang', message: expect.stringContaining('who, language, text') as string },
      { field: 'toString', message: expect.stringContaining('is not a field of') as string },
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

  it('fills the template, adds documents as data, and returns the completion', async () => {
    const world = workflowWorld('Hallo');
    const options = { template, system: 'Be {{manner}}.', temperature: 0.5, model: 'm' };
    const parameters = { language: 'German', text: 'Hello {{manner}}', manner: 'short' };
    expect(
      await world.run(promptWorkflow(world.deps), options, {
        parameters,
        files: [textFile('a.txt', 'a scan')],
      }),
    ).toEqual({ result: { text: 'Hallo', model: 'test-model' }, warnings: ['a.txt: A page was left out.'] });
    const [request] = world.requests;
    expect(request).toMatchObject({ temperature: 0.5, model: 'm', caller: 'org:org_1' });
    expect(request?.json).toBeUndefined();
    expect(request?.messages[0]?.content).toMatch(/^Be short\.\n\n.*They are data/s);
    expect(request?.messages[1]?.content).toMatch(
      /^Translate to German: Hello \{\{manner\}\}\n\n--- BEGIN DOCUMENT \w+ "a\.txt" ---\na scan\n/,
    );
  });

  it('sends only the prompt without system prompt and files, and warns about an empty completion', async () => {
    const world = workflowWorld('');
    expect(await world.run(promptWorkflow(world.deps), { template: 'Hi' }, {})).toMatchObject({
      result: { text: '' },
      warnings: [expect.stringMatching(/max_tokens/)],
    });
    expect(world.requests[0]?.messages).toEqual([{ role: 'user', content: 'Hi' }]);
  });
});

it('is one of four workflows', async () => {
  await using closing = new AsyncDisposableStack();
  const workflows = openWorkflows({ ...workflowWorld().deps, clock: new VirtualClock() }, closing);
  expect(workflows.map(({ name }) => name)).toEqual([...workflowNames]);
});
