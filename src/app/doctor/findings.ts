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

const gigabyte = 1024 ** 3;

/** `1.5 GB` */
export const gigabytes = (bytes: number): string => `${(bytes / gigabyte).toFixed(1)} GB`;
