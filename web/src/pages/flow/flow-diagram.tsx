// Two streams that meet in the gateway, and the stores. On narrow screens they are stacked.
import type { Flow } from '../../../../src/api/overview.ts';
import { TenantRequests } from './tenant-requests.tsx';
import classes from './flow-diagram.module.css';
import { Ingestion } from './ingestion.tsx';
import { Stores } from './stores.tsx';

export function FlowDiagram({ flow }: { readonly flow: Flow }) {
  return (
    <div className={classes['picture']}>
      <Ingestion flow={flow} />
      <TenantRequests flow={flow} />
      <Stores flow={flow} />
    </div>
  );
}
