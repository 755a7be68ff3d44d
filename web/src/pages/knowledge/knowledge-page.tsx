// The page Knowledge.
import { PageTitle } from '../../parts/states.tsx';

export default function KnowledgePage() {
  return <PageTitle>Knowledge</PageTitle>;
}
