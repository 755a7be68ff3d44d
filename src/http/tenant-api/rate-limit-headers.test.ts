// RateLimit headers of a rejection: only the organization's own limit, with exact values.
import { describe, expect, it } from 'vitest';
import { AdmissionError } from '../../tenancy/index.ts';
import { tenantErrorOf } from './error-response.ts';

const headersOf = (code: 'ADMISSION_ORG_LIMIT' | 'ADMISSION_GLOBAL_LIMIT', organization: number) => {
  const usage = { organization, organizationLimit: 20, global: 93, globalLimit: 93 };
  return tenantErrorOf(new AdmissionError(code, 'full', { usage, retryAfterMs: 4_200 }), 'request').headers;
};

describe('the RateLimit fields of a rejection', () => {
  it("have nothing left at the organization's limit", () => {
    expect(headersOf('ADMISSION_ORG_LIMIT', 20)).toMatchObject({
      'ratelimit-policy': '"org";q=20;qu="concurrent-requests"',
      ratelimit: '"org";r=0;t=5',
    });
    expect(headersOf('ADMISSION_ORG_LIMIT', 25)).toMatchObject({ ratelimit: '"org";r=0;t=5' });
  });

  it('have the remaining slots of the organization at the global limit, and nothing about others', () => {
    const headers = headersOf('ADMISSION_GLOBAL_LIMIT', 7);
    expect(headers).toMatchObject({ 'retry-after': '5', ratelimit: '"org";r=13' });
    expect(JSON.stringify(headers)).not.toContain('93');
  });
});
