// Sessions of the dashboard: a cookie that says until when, signed, so that every server of a house knows it.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock, IdSource } from '../../core/index.ts';

/** A working day. */
const sessionMs = 12 * 3_600_000;

export interface Sessions {
  /** A fresh session: what its cookie holds, and when it ends. */
  issue(): { readonly value: string; readonly expiresAt: Date };
  /** From memory, at once; false for whatever we did not sign, and for what has ended. */
  isValid(value: string): boolean;
}

/**
 * Signed with a key that is derived from the admin token: another admin token ends every session. Nothing is stored, so
 * one session alone cannot be taken back; it ends by itself.
 */
export function createSessions(adminToken: string, clock: Clock, ids: IdSource): Sessions {
  const key = Buffer.from(hkdfSync('sha256', adminToken, '', 'headworks dashboard session', 32));
  const signature = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    issue() {
      const expiresAt = new Date(clock.now() + sessionMs);
      const text = `${expiresAt.getTime().toString(36)}.${ids.token(12)}`;
      return { value: `${text}.${signature(text).toString('base64url')}`, expiresAt };
    },
    isValid(value) {
      const parts = /^([0-9a-z]{1,12})\.[\w-]{16}\.([\w-]{43})$/.exec(value);
      if (parts === null) return false;
      const [, expires = '', signed = ''] = parts;
      const given = Buffer.from(signed, 'base64url');
      const expected = signature(value.slice(0, -signed.length - 1));
      return (
        given.length === expected.length &&
        timingSafeEqual(given, expected) &&
        Number.parseInt(expires, 36) > clock.now()
      );
    },
  };
}
