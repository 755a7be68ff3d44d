// "Show more" button of a paginated list.
import { Button } from '@mantine/core';
import type { MantineSpacing } from '@mantine/core';

interface PagedQuery {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** Renders nothing on the last page. */
export function ShowMore({ of, mt }: { readonly of: PagedQuery; readonly mt?: MantineSpacing }) {
  if (!of.hasNextPage) return null;
  return (
    <Button
      {...(mt === undefined ? {} : { mt })}
      variant="default"
      loading={of.isFetchingNextPage}
      onClick={() => void of.fetchNextPage()}
    >
      Show more
    </Button>
  );
}
