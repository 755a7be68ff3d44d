import { describe, expect, it } from 'vitest';
import { CoreError, coreErrorCodes, HeadworksError } from '../core/index.ts';
import { extractionErrorCodes } from '../extraction/errors.ts';
import { gatewayErrorCodes } from '../gateway/errors.ts';
import { knowledgeErrorCodes } from '../knowledge/errors.ts';
import { ledgerErrorCodes } from '../ledger/errors.ts';
import { admissionErrorCodes, deploymentErrorCodes } from '../tenancy/errors.ts';
import { exitCodeMeanings, exitCodeOf, exitCodes } from './exit-codes.ts';

describe('exit codes', () => {
  it('differ from each other and have a meaning each', () => {
    expect(new Set(Object.values(exitCodes)).size).toBe(Object.keys(exitCodeMeanings).length);
  });

  it.each(
    [
      coreErrorCodes,
      ledgerErrorCodes,
      extractionErrorCodes,
      gatewayErrorCodes,
      admissionErrorCodes,
      deploymentErrorCodes,
      knowledgeErrorCodes,
    ].flatMap((codes) => Object.keys(codes)),
  )('give %s another code than success', (code) => {
    expect(exitCodeOf(new HeadworksError(code, ''))).toBeGreaterThan(exitCodes.ok);
  });

  it.each([
    [new CoreError('CONFIG_INVALID', ''), 2],
    [new HeadworksError('GATEWAY_STREAM_INTERRUPTED', ''), 4],
    [new HeadworksError('GATEWAY_MODEL_NOT_FOUND', ''), 2],
    [new HeadworksError('SQLITE_UNUSABLE', ''), 1],
    [new CoreError('STATE_UNUSABLE', ''), 3],
    [new CoreError('INTERNAL', ''), 1],
    [new HeadworksError('HTTP_HOST_NOT_ALLOWED', ''), 3],
    [new HeadworksError('OF_A_NEWER_SERVER', ''), 1],
    [new HeadworksError('constructor', ''), 1],
    [new Error('anything'), 1],
    ['thrown text', 1],
  ])('map %s to %d', (error, code) => expect(exitCodeOf(error)).toBe(code));
});
