// Settings of the gateway. Names without prefix are the founding document's.
import { choiceOption, defineOptions, numberOption } from '../core/index.ts';
import type { OptionValues } from '../core/index.ts';
import { modelsOption } from './models-option.ts';

export const gatewayOptions = defineOptions({
  section: 'gateway',
  describe: 'AI models: order of attempts, cooldowns, probes.',
  fields: {
    maxRetries: numberOption({
      describe: 'Extra tries per model and request after failures that may pass (5xx, timeout, network).',
      env: 'MAX_RETRIES',
      default: 10,
      min: 0,
      max: 100,
    }),
    retryDelaySeconds: numberOption({
      describe: 'Wait before each round of extra tries.',
      env: 'RETRY_DELAY_SECONDS',
      default: 10,
      min: 0,
      max: 600,
      integer: false,
    }),
    retryOrder: choiceOption({
      describe:
        'rounds: ask every model once before any is asked again; model-first: all tries of one model, then the next.',
      env: 'RETRY_ORDER',
      default: 'rounds',
      choices: ['rounds', 'model-first'],
    }),
    rateLimitDefaultCooldownSeconds: numberOption({
      describe: 'How long a key is left alone after a 429 that does not say how long.',
      env: 'RATE_LIMIT_DEFAULT_COOLDOWN',
      default: 3600,
      min: 1,
      max: 2_678_400,
    }),
    requestTimeoutSeconds: numberOption({
      describe:
        'The longest a request may take, all tries and waits together; x-headworks-timeout overrides it.',
      env: 'REQUEST_TIMEOUT_SECONDS',
      default: 120,
      min: 1,
      max: 3_600,
      integer: false,
    }),
    waitForModelSeconds: numberOption({
      describe:
        'Wait up to this long for the soonest model when none is available; 0 answers 429 or 503 at once.',
      env: 'HEADWORKS_GATEWAY_WAIT_FOR_MODEL_SECONDS',
      default: 0,
      min: 0,
      max: 3_600,
      integer: false,
    }),
    connectTimeoutSeconds: numberOption({
      describe: 'The longest wait of one attempt for its connection.',
      env: 'HEADWORKS_GATEWAY_CONNECT_TIMEOUT_SECONDS',
      default: 5,
      min: 0.1,
      max: 60,
      integer: false,
    }),
    firstTokenTimeoutSeconds: numberOption({
      describe: 'The longest wait of one streamed attempt for its first content.',
      env: 'HEADWORKS_GATEWAY_FIRST_TOKEN_TIMEOUT_SECONDS',
      default: 20,
      min: 0.1,
      max: 600,
      integer: false,
    }),
    responseTimeoutSeconds: numberOption({
      describe: 'The longest wait of one attempt that is not streamed for its whole answer.',
      env: 'HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS',
      default: 60,
      min: 0.1,
      max: 600,
      integer: false,
    }),
    idleTimeoutSeconds: numberOption({
      describe: 'The longest silence in the middle of an answer.',
      env: 'HEADWORKS_GATEWAY_IDLE_TIMEOUT_SECONDS',
      default: 20,
      min: 0.1,
      max: 600,
      integer: false,
    }),
    healthCheckIntervalSeconds: numberOption({
      describe: 'How often configured models that are not cooling down are probed; 0 never.',
      env: 'HEALTH_CHECK_INTERVAL',
      default: 3600,
      min: 0,
      max: 604_800,
    }),
    scoreWindowDays: numberOption({
      describe: 'Days that count as recent in scores.',
      env: 'HEADWORKS_GATEWAY_SCORE_WINDOW_DAYS',
      default: 7,
      min: 1,
      max: 365,
    }),
    maxBodyBytes: numberOption({
      describe: 'The largest request to /v1; images travel inside.',
      env: 'HEADWORKS_GATEWAY_MAX_BODY_BYTES',
      default: 20_971_520,
      min: 1_024,
      max: 1_073_741_824,
    }),
    maxResponseBytes: numberOption({
      describe: 'The largest answer of a model that is not streamed; larger ones are taken for broken.',
      env: 'HEADWORKS_GATEWAY_MAX_RESPONSE_BYTES',
      default: 33_554_432,
      min: 1_024,
      max: 1_073_741_824,
    }),
    models: modelsOption,
  },
});

export type GatewayOptions = OptionValues<typeof gatewayOptions.fields>;
