// Composes knowledge for the server: gateway models, embedders, document parser, files, ledger and metrics.
import type { Config } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { systemClock, systemIds } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { Knowledge, LanguageModel } from '../knowledge/index.ts';
import { openKnowledge } from '../knowledge/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { folderFiles } from './folder-files.ts';
import { knowledgeDocuments } from './knowledge-documents.ts';
import type { ServerEmbedders } from './knowledge-embedder.ts';
import { createEmbedders } from './knowledge-embedder.ts';
import { embedderKinds, repairWhenModelsAnswer, requestRepairs, whenWarmed } from './request-repairs.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';
import { languageModelOf } from './workflows.ts';

export interface ServerKnowledgeDeps {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly gateway: Gateway;
  /** Whether the ledger has an open row of this kind and subject. */
  readonly isRecorded: (kind: string, subject: string) => Promise<boolean>;
}

export interface ServerKnowledge extends Knowledge {
  readonly embedders: ServerEmbedders;
  /** Starts workers, schedules and listeners; call it when everything else is ready. */
  work(): Promise<void>;
}

export async function composeKnowledge(
  { config, stores, telemetry, role, jobs, ledger, gateway, isRecorded }: ServerKnowledgeDeps,
  closing: AsyncDisposableStack,
): Promise<ServerKnowledge> {
  // A command that acts as the server for a moment could not finish these jobs; a long-running server schedules them.
  const isLongRunning = role !== 'command';
  const reembed = (): void => {
    if (isLongRunning && embedders.current().state === 'ready') knowledge?.reembed();
  };
  let knowledge: Knowledge | null = null;
  const options = config.knowledge;
  const embedders = createEmbedders(
    {
      clock: systemClock,
      ids: systemIds,
      options,
      gateway,
      onRecovered: () => {
        if (isLongRunning) requestRepairs(jobs, embedderKinds);
      },
      onModelChanged: reembed,
    },
    closing,
  );
  knowledge = await openKnowledge({
    database: stores.database,
    clock: systemClock,
    ids: systemIds,
    log: telemetry.log,
    metrics: telemetry.metrics,
    jobs,
    ledger,
    options,
    isRecorded,
    embedders,
    model: languageModel(gateway),
    documents: knowledgeDocuments(systemClock, closing),
    files: folderFiles,
    requestRepairs: (kinds) => requestRepairs(jobs, kinds),
  });
  const opened = knowledge;
  return {
    ...opened,
    embedders,
    resetCooldowns: () => {
      opened.resetCooldowns();
      reembed();
    },
    work: async () => {
      const scansFolders = role === 'serve' || role === 'demo';
      closing.defer(await opened.start({ isLongRunning, scansFolders }));
      reembed();
      if (isLongRunning) closing.defer(telemetry.events.listen(repairWhenModelsAnswer(systemClock, jobs)));
      closing.defer(telemetry.events.listen(whenWarmed(() => embedders.resetCooldown())));
    },
  };
}

/** The gateway's chat models. */
function languageModel(gateway: Gateway): LanguageModel {
  return {
    ...languageModelOf(gateway),
    isConfigured: () => gateway.models.listCallable().some(({ capabilities }) => !capabilities.embeddings),
  };
}
