// The page Flow.
import { PageTitle } from '../../parts/states.tsx';

export default function FlowPage() {
  return <PageTitle>Flow</PageTitle>;
}
