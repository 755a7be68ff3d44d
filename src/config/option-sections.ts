// Every section of the configuration. A new domain adds one line here, and its options are read, checked and documented.
import {
  clientOptions,
  dataOptions,
  jobsOptions,
  loggingOptions,
  redisOptions,
  retentionOptions,
  serverOptions,
  stateOptions,
  tracingOptions,
} from '../app/options.ts';
import { admissionOptions } from '../tenancy/options.ts';
import { deploymentOptions } from '../tenancy/options.ts';
import { extractionOptions, lookerOptions } from '../extraction/options.ts';
import { gatewayOptions } from '../gateway/options.ts';
import { knowledgeOptions } from '../knowledge/options.ts';
import { ledgerOptions } from '../ledger/options.ts';

/** Keyed by section name, in the order of help and docs. */
export const optionSections = {
  server: serverOptions,
  client: clientOptions,
  data: dataOptions,
  state: stateOptions,
  redis: redisOptions,
  jobs: jobsOptions,
  ledger: ledgerOptions,
  extraction: extractionOptions,
  looker: lookerOptions,
  gateway: gatewayOptions,
  admission: admissionOptions,
  deployments: deploymentOptions,
  knowledge: knowledgeOptions,
  retention: retentionOptions,
  logging: loggingOptions,
  tracing: tracingOptions,
} as const;
