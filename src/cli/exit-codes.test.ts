import { describe, expect, it } from 'vitest';
import { admissionErrorCodes } from '../tenancy/errors.ts';
import { CoreError, coreErrorCodes, HeadworksError } from '../core/index.ts';
import { deploymentErrorCodes } from '../tenancy/errors.ts';
import { knowledgeErrorCodes } from '../knowledge/errors.ts';
import { extractionErrorCodes } from '../extraction/errors.ts';
import { gatewayErrorCodes } from '../gateway/errors.ts';
import { ledgerErrorCodes } from '../ledger/errors.ts';
import { exitCodeByErrorCode, exitCodeMeanings, exitCodeOf, exitCodes } from './exit-codes.ts';

describe('exit codes', () => {
  it('exist for every error code there is, and for no other', () => {
    const known = [
      coreErrorCodes,
      ledgerErrorCodes,
      extractionErrorCodes,
      gatewayErrorCodes,
      admissionErrorCodes,
      deploymentErrorCodes,
      knowledgeErrorCodes,
    ].flatMap((codes) => Object.keys(codes));
    expect(Object.keys(exitCodeByErrorCode).sort()).toEqual(known.sort());
  });

  it('never call an error a success', () => {
    expect(Object.values(exitCodeByErrorCode)).not.toContain(exitCodes.ok);
  });

  it('differ from each other and have a meaning each', () => {
    expect(new Set(Object.values(exitCodes)).size).toBe(Object.keys(exitCodeMeanings).length);
  });

  it.each([
    [new CoreError('CONFIG_INVALID', ''), 2],
    [new CoreError('STATE_UNUSABLE', ''), 3],
    [new CoreError('INTERNAL', ''), 1],
    [new HeadworksError('HTTP_HOST_NOT_ALLOWED', ''), 3],
    [new HeadworksError('OF_A_NEWER_SERVER', ''), 1],
    [new HeadworksError('constructor', ''), 1],
    [new Error('anything'), 1],
    ['thrown text', 1],
  ])('of %s is %d', (error, code) => expect(exitCodeOf(error)).toBe(code));
});
