// The page Tenants.
import { PageTitle } from '../../parts/states.tsx';

export default function TenantsPage() {
  return <PageTitle>Tenants</PageTitle>;
}
