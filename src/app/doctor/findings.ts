// What a check can come to.
import type { DoctorCheck } from '../../http/index.ts';

export type Finding = Omit<DoctorCheck, 'name'>;

export const ok = (detail: string): Finding => ({ state: 'ok', detail, remedy: null });
export const notConfigured = (detail: string, remedy: string | null): Finding => ({
  state: 'not-configured',
  detail,
  remedy,
});
export const warning = (detail: string, remedy: string): Finding => ({ state: 'warning', detail, remedy });
export const problem = (detail: string, remedy: string): Finding => ({ state: 'problem', detail, remedy });

/** `1.5 GB`, `93 MB`, `12 kB` */
export function size(bytes: number): string {
  if (bytes >= 1024 ** 3) return `${(bytes / 1024 ** 3).toFixed(1)} GB`;
  return bytes >= 1024 ** 2 ? `${Math.floor(bytes / 1024 ** 2)} MB` : `${Math.ceil(bytes / 1024)} kB`;
}
