// The option `gateway.models`: models of one's own, as a list in headworks.yaml (or as JSON in the environment).
import type { OptionSpec, Parsed } from '../core/options.ts';
import type { ModelDefinition } from './ports.ts';
import { checkModelDefinition } from './providers/parse-model-definition.ts';

const allowed = 'a list of models with name, baseUrl and, where it needs a key, envVar';

export const modelsOption: OptionSpec<readonly ModelDefinition[]> = {
  describe:
    'Models of your own beside the built-in ones: name, baseUrl, and if you like model, provider, envVar, headers, capabilities, quotas. In the environment: the same as JSON.',
  env: ['HEADWORKS_GATEWAY_MODELS'],
  default: [],
  allowed,
  secret: false,
  parse: (raw) => {
    const list = typeof raw === 'string' ? parsedJson(raw) : raw;
    return Array.isArray(list) ? parseModels(list) : { problem: `must be ${allowed}` };
  },
};

function parseModels(list: readonly unknown[]): Parsed<readonly ModelDefinition[]> {
  const models: ModelDefinition[] = [];
  const problems: string[] = [];
  for (const [index, item] of list.entries()) {
    const checked = checkModelDefinition(item);
    if ('problems' in checked)
      problems.push(`model ${index + 1}${nameIn(item)}: ${checked.problems.join(', ')}`);
    else if (models.some(({ name }) => name === checked.value.name))
      problems.push(`model ${index + 1}: the name ${checked.value.name} stands there twice`);
    else models.push(checked.value);
  }
  return problems.length > 0 ? { problem: `must be put right (${problems.join('; ')})` } : { value: models };
}

/** ` (acme/large)`, where it has a name. */
function nameIn(item: unknown): string {
  const name: unknown = (item as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? ` (${name.slice(0, 100)})` : '';
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
