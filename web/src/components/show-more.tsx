// "Show more" button of a paginated list.
import { Button } from '@mantine/core';

interface PagedQuery {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** Renders nothing on the last page. */
export function ShowMore({ of }: { readonly of: PagedQuery }) {
  if (!of.hasNextPage) return null;
  return (
    <Button
      mt="sm"
      variant="default"
      w="fit-content"
      loading={of.isFetchingNextPage}
      onClick={() => void of.fetchNextPage()}
    >
      Show more
    </Button>
  );
}
