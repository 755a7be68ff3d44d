export const measureFlows = async (): Promise<[string, string][]> => [];
