// Two streams that meet in the gateway, and what both stand on. Below the width of a desk they stand under each other.
import type { FlowAnswer } from '../../../../src/http/contract.ts';
import { Asking } from './asking.tsx';
import classes from './flow-picture.module.css';
import { Incoming } from './incoming.tsx';
import { Stores } from './stores.tsx';

export function FlowPicture({ flow }: { readonly flow: FlowAnswer }) {
  return (
    <div className={classes['picture']}>
      <Incoming flow={flow} />
      <Asking flow={flow} />
      <Stores flow={flow} />
    </div>
  );
}
