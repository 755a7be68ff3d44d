// The page Extraction.
import { PageTitle } from '../../parts/states.tsx';

export default function ExtractionPage() {
  return <PageTitle>Extraction</PageTitle>;
}
