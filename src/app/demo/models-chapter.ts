// The gateway hears of five models and asks each something cheap: who is up, and whose key is refused.
import type { Probes } from '../../api/models.ts';
import type { Chapter } from './chapter.ts';
import { fickleModel } from './demo-models.ts';
import { ensureModels } from './ensure-upstreams.ts';

export const modelsChapter: Chapter = {
  name: 'models',
  title: 'Asking the AI providers who is up',
  run: async (stage) => {
    const count = await ensureModels(stage);
    const { client, world, signal } = stage;
    world.models.script(fickleModel.model, ['ok']);
    const { probes } = await client.call<Probes>('POST', '/api/v1/models/probe', { body: {}, signal });
    // Nobody asked it, if it is left alone since an earlier start: then it answers nobody.
    world.models.script(fickleModel.model, []);
    const failed = probes.filter(({ outcome }) => outcome !== 'success');
    const how = failed.map(({ model, outcome }) => `${model} (${outcome})`).join(', ');
    return `${count - failed.length} of ${count} models answer${failed.length === 0 ? '' : `; not ${how}`}.`;
  },
};
