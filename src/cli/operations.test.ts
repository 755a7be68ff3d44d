import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Operation } from '../api/operation.ts';

const folder = join(import.meta.dirname, '..');
const filesOf = (pattern: string) =>
  globSync(pattern, { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));

const dashboard = 'The dashboard shows it.';
const programs = 'Programs call it; a command would only print JSON.';
const ofFile = '"headworks vault" reads the vault file itself.';

/** Operations that no command offers, and why. */
const withoutCommand: Readonly<Record<string, string>> = {
  'alerts.list': '"headworks doctor" includes the alerts.',
  'audit.list': programs,
  'backup.create': '"headworks backup" downloads it as a stream.',
  'caller.get': '"headworks mcp" calls it to find out whose key it has.',
  'dashboard.log-in': dashboard,
  'dashboard.log-out': dashboard,
  'deployment-api.cancel-execution': '"headworks executions" is the same for the admin.',
  'deployment-api.execute': programs,
  'deployment-api.get-execution': '"headworks executions" is the same for the admin.',
  'runs.get': '"headworks sources runs" has the same fields.',
  'runs.get-samples': dashboard,
  'runs.report': '"headworks extract" reports its run while a server uses the folder.',
  'runs.stop': programs,
  'sources.get': '"headworks sources list" has the same fields.',
  'sources.update': programs,
  'vaults.get': ofFile,
  'vaults.get-data': ofFile,
  'vaults.get-item': ofFile,
  'vaults.list-items': ofFile,
  'health.get-liveness': '"headworks doctor" reports more.',
  'health.get-metrics': programs,
  'health.get-readiness': '"headworks doctor" reports more.',
  'live.stream': '"headworks jobs watch" opens it as a stream.',
  'mcp.call': '"headworks mcp" is its client.',
  'models.get': '"headworks models get" takes a name and finds it in the list.',
  'models.get-history': dashboard,
  'models.increment-failure': programs,
  'models.increment-success': programs,
  'anthropic.count-tokens': programs,
  'anthropic.create-message': programs,
  'openai.audio-speech': programs,
  'openai.audio-transcriptions': programs,
  'openai.audio-translations': programs,
  'openai.create-completion': programs,
  'openai.create-response': programs,
  'openai.delete-response': programs,
  'openai.get-response': programs,
  'openai.images-edits': programs,
  'openai.images-generations': programs,
  'openai.moderations': programs,
  'openai.rerank': programs,
  'openai.create-chat-completion': programs,
  'openai.create-embeddings': programs,
  'openai.get-model': programs,
  'openai.list-models': programs,
  'openapi.get': programs,
  'overview.get-flow': dashboard,
  'overview.get-organizations': dashboard,
  'presence.attach': 'Every command opens it as a stream while it runs.',
  'presence.hand-over': 'A server that starts calls it, to take over from the one that a command started.',
  'prompts.process': programs,
};

it('every operation has a command, or a reason why not', async () => {
  const commands = filesOf('cli/**/*.ts')
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  const missing: string[] = [];
  for (const file of filesOf('api/*.ts')) {
    const exported = (await import(join(folder, file))) as Record<string, Record<string, Operation>>;
    for (const [api, operations] of Object.entries(exported).filter(([name]) => name.endsWith('Api')))
      for (const [name, { id, route }] of Object.entries(operations))
        if (!commands.includes(`'${route}'`) && !new RegExp(`\\b${api}\\.${name}\\b`).test(commands))
          missing.push(id);
  }
  expect(missing.sort()).toEqual(Object.keys(withoutCommand).sort());
});
