// Usage and limits as metrics, asked at each scrape.
import type { OpenAdmission } from './open-admission.ts';

export interface AdmissionGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly collect: () => Promise<
    readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
  >;
}

export function admissionGauges({ board, gate, isStoreUp }: OpenAdmission): readonly AdmissionGauge[] {
  const single = (name: string, help: string, read: () => number | Promise<number>): AdmissionGauge => ({
    name,
    help,
    labels: [],
    collect: async () => [{ labels: {}, value: await read() }],
  });
  const perOrganization = (name: string, help: string, field: 'used' | 'limit'): AdmissionGauge => ({
    name,
    help,
    labels: ['organization'],
    collect: async () =>
      (await board.sample()).organizations.map((each) => ({
        labels: { organization: each.organizationId },
        value: each[field],
      })),
  });
  return [
    perOrganization('headworks_admission_usage', 'Slots in use, by organization.', 'used'),
    perOrganization('headworks_admission_limit', 'Slots an organization may use.', 'limit'),
    single(
      'headworks_admission_global_usage',
      'Slots in use by all organizations.',
      async () => (await board.sample()).global,
    ),
    single(
      'headworks_admission_global_limit',
      'Slots all organizations may use.',
      async () => (await board.sample()).globalLimit,
    ),
    single(
      'headworks_admission_waiting',
      'Requests that wait for a slot in this process.',
      () => gate.waiting,
    ),
    single(
      'headworks_admission_store_up',
      '1 while the store of slots decides, 0 while this process does.',
      () => (isStoreUp() ? 1 : 0),
    ),
  ];
}
