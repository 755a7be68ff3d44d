// The page Models.
import { PageTitle } from '../../parts/states.tsx';

export default function ModelsPage() {
  return <PageTitle>Models</PageTitle>;
}
