// How commands name an organization.

export const organizationsPath = '/api/v1/organizations';

export const organizationPath = (organization: string): string =>
  `${organizationsPath}/${encodeURIComponent(organization)}`;

export const organizationArgument = ['<organization>', 'its id or its name'] as const;
