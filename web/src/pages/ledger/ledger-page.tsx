// The page Ledger.
import { PageTitle } from '../../parts/states.tsx';

export default function LedgerPage() {
  return <PageTitle>Ledger</PageTitle>;
}
